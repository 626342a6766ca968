#include "output/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_begin(JsonOut *json, Writer *out, bool one_line) {
    *json = (JsonOut){.out = out, .one_line = one_line, .first = true};
}

static void new_line(JsonOut *json) {
    if (json->one_line) return;
    write_char(json->out, '\n');
    write_spaces(json->out, 2 * json->depth);
}

/* Whatever stands between the last value and the next. */
static void before_value(JsonOut *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0) return;
    if (!json->first) write_text(json->out, json->one_line ? ", " : ",");
    new_line(json);
    json->first = false;
}

void json_open(JsonOut *json, char bracket) {
    before_value(json);
    write_char(json->out, bracket);
    json->depth++;
    json->first = true;
}

void json_close(JsonOut *json, char bracket) {
    json->depth--;
    if (!json->first) new_line(json);
    write_char(json->out, bracket);
    json->first = false;
}

static void write_escape(Writer *out, unsigned char c) {
    switch (c) {
    case '"':
        write_text(out, "\\\"");
        break;
    case '\\':
        write_text(out, "\\\\");
        break;
    case '\b':
        write_text(out, "\\b");
        break;
    case '\f':
        write_text(out, "\\f");
        break;
    case '\n':
        write_text(out, "\\n");
        break;
    case '\r':
        write_text(out, "\\r");
        break;
    case '\t':
        write_text(out, "\\t");
        break;
    default:
        write_format(out, "\\u%04x", c);
    }
}

static void write_quoted(const JsonOut *json, Str text) {
    Writer *out = json->out;
    uint32_t done = 0;
    write_char(out, '"');
    for (uint32_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.text[i];
        if (c >= 0x20 && c != '"' && c != '\\' && !(c == '<' && json->in_html)) continue;
        write_str(out, (Str){text.text + done, i - done});
        write_escape(out, c);
        done = i + 1;
    }
    write_str(out, (Str){text.text + done, text.length - done});
    write_char(out, '"');
}

void json_str_key(JsonOut *json, Str key) {
    before_value(json);
    write_quoted(json, key);
    write_text(json->out, ": ");
    json->after_key = true;
}

void json_key(JsonOut *json, const char *key) {
    json_str_key(json, str_from(key));
}

void json_str(JsonOut *json, Str text) {
    before_value(json);
    write_quoted(json, text);
}

void json_text(JsonOut *json, const char *text) {
    json_str(json, str_from(text));
}

void json_int(JsonOut *json, int64_t number) {
    before_value(json);
    write_int(json->out, number);
}

void json_bool(JsonOut *json, bool value) {
    before_value(json);
    write_text(json->out, value ? "true" : "false");
}

void json_null(JsonOut *json) {
    before_value(json);
    write_text(json->out, "null");
}

void json_real(JsonOut *json, double number) {
    char text[32];
    if (!isfinite(number)) {
        json_null(json);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    before_value(json);
    write_text(json->out, text);
}

void json_fixed(JsonOut *json, double number, int digits) {
    if (!isfinite(number)) {
        json_null(json);
        return;
    }
    before_value(json);
    write_format(json->out, "%.*f", digits, number);
}
