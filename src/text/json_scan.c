#include "text/json_scan.h"

#include <string.h>

JsonScan json_scan(const Source *source) {
    return (JsonScan){.text = source->text, .length = source->length};
}

bool json_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static uint32_t skip_spaces(const JsonScan *scan, uint32_t at) {
    while (at < scan->length && json_is_space(scan->text[at]))
        at++;
    return at;
}

static void scan_string(JsonScan *scan) {
    while (++scan->at < scan->length && scan->text[scan->at] != '"')
        scan->at += scan->text[scan->at] == '\\';
    scan->at = scan->at < scan->length ? scan->at + 1 : scan->length;
}

static void scan_word(JsonScan *scan) {
    do
        scan->at++;
    while (scan->at < scan->length && !json_is_space(scan->text[scan->at]) &&
           !strchr(",:[]{}\"", scan->text[scan->at]));
}

JsonToken json_scan_next(JsonScan *scan) {
    JsonToken token = JSON_SCALAR;
    do
        scan->at = skip_spaces(scan, scan->at);
    while (scan->at < scan->length &&
           (scan->text[scan->at] == ',' || scan->text[scan->at] == ':') && ++scan->at);
    scan->span.begin = scan->at;
    switch (scan->text[scan->at]) {
    case '[':
    case '{':
        scan->at++;
        token = JSON_OPEN;
        break;
    case ']':
    case '}':
        scan->at++;
        token = JSON_CLOSE;
        break;
    case '"': {
        scan_string(scan);
        uint32_t next = skip_spaces(scan, scan->at);
        if (scan->text[next] == ':') token = JSON_KEY;
        break;
    }
    default:
        if (scan->at >= scan->length)
            token = JSON_END;
        else
            scan_word(scan);
    }
    scan->span.end = scan->at;
    return token;
}

const JsonValue *json_values(const Source *source, Arena *arena) {
    JsonValue *values = NULL;
    size_t count = 0, capacity = 0;
    uint32_t *open = NULL;
    size_t depth = 0, open_capacity = 0;
    Span key = {0};
    JsonScan scan = json_scan(source);
    for (JsonToken token; (token = json_scan_next(&scan)) != JSON_END;) {
        if (token == JSON_KEY) {
            key = scan.span;
        } else if (token == JSON_CLOSE) {
            if (depth == 0) continue;
            JsonValue *container = &values[open[--depth]];
            container->span.end = scan.span.end;
            container->size = (uint32_t)(values + count - container);
        } else {
            if (token == JSON_OPEN) PUSH(arena, open, depth, open_capacity, (uint32_t)count);
            JsonValue value = {.span = scan.span, .key = key, .size = 1};
            PUSH(arena, values, count, capacity, value);
            key = (Span){0};
        }
    }
    return values;
}
