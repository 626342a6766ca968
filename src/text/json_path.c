/* Names the paths of places in a JSON text: `functions[0].tensors[3].shape`. */
#include <stdio.h>
#include <string.h>

#include "support/sort.h"
#include "text/json_read.h"
#include "text/json_scan.h"

/* An array or object around the place. */
typedef struct {
    bool array;
    uint32_t count; /* array: elements begun */
    Str key;        /* object: the last key, without quotes */
} Level;

typedef struct {
    Arena *arena; /* scratch */
    Level *levels;
    size_t depth, capacity;
} Path;

/* The path down to `depth` levels, in the arena of the diagnostics. */
static Str path_text(const Path *path, size_t depth, Arena *arena) {
    size_t length = 0;
    for (size_t i = 0; i < depth; i++)
        length += path->levels[i].key.length + 16;
    char *text = arena_raw(arena, length + 1, 1), *at = text;
    for (size_t i = 0; i < depth; i++) {
        const Level *level = &path->levels[i];
        if (level->array ? level->count == 0 : level->key.length == 0) continue;
        if (level->array)
            at += sprintf(at, "[%u]", level->count - 1);
        else
            at += sprintf(at, "%s%.*s", at > text ? "." : "", (int)level->key.length,
                          level->key.text);
    }
    return (Str){text, (uint32_t)(at - text)};
}

/* An element of the innermost array begins. */
static void begin_element(Path *path) {
    if (path->depth > 0 && path->levels[path->depth - 1].array)
        path->levels[path->depth - 1].count++;
}

/* Steps the path over one token; returns the depth down to which the path names that token. */
static size_t step(Path *path, JsonToken token, const JsonScan *scan) {
    if (token == JSON_SCALAR || token == JSON_OPEN) begin_element(path);
    size_t depth = path->depth;
    if (token == JSON_KEY && depth > 0)
        path->levels[depth - 1].key =
            (Str){scan->text + scan->span.begin + 1, scan->span.end - scan->span.begin - 2};
    if (token == JSON_OPEN) {
        Level level = {.array = scan->text[scan->span.begin] == '['};
        PUSH(path->arena, path->levels, path->depth, path->capacity, level);
    }
    if (token == JSON_CLOSE && depth > 0) return --path->depth;
    return depth;
}

static void put_path(Diag *diag, Arena *arena, Str path) {
    if (path.length == 0 || diag->no_path) return;
    diag->text = str_format(arena, "%.*s: %.*s", (int)path.length, path.text,
                            (int)diag->text.length, diag->text.text);
}

static char byte_before(const Source *source, uint32_t at) {
    while (at > 0 && json_is_space(source->text[at - 1]))
        at--;
    return at > 0 ? source->text[at - 1] : '\0';
}

/* True if the token stands where a member's or an element's value belongs. */
static bool is_value(const Path *path, JsonToken token, const Source *source, Span span) {
    if ((token != JSON_SCALAR && token != JSON_OPEN) || path->depth == 0) return false;
    char before = byte_before(source, span.begin);
    return path->levels[path->depth - 1].array ? before == ',' || before == '[' : before == ':';
}

Str json_find_fault(const Source *source, uint32_t end, bool of_key, Span *span, Arena *arena) {
    Arena scratch;
    arena_init(&scratch);
    Path path = {.arena = &scratch};
    JsonScan scan = json_scan(source);
    JsonToken token = json_scan_next(&scan);
    for (; token != JSON_END && scan.span.end < end; token = json_scan_next(&scan))
        step(&path, token, &scan);
    size_t depth = path.depth;
    bool within = scan.span.begin < end && token != JSON_END;
    bool names = within && (of_key ? token == JSON_KEY : is_value(&path, token, source, scan.span));
    if (names) step(&path, token, &scan);
    if (!names && depth > 0) depth--;
    if (within)
        *span = (Span){scan.span.begin, end < scan.span.end ? end : scan.span.end};
    else if (end > 0 && strchr(",:", source->text[end - 1]))
        *span = (Span){end - 1, end};
    else
        *span = (Span){source->length, source->length};
    Str text = path_text(&path, depth, arena);
    arena_free(&scratch);
    return text;
}

void json_name_paths(const Source *source, DiagQueue *diags) {
    Arena scratch;
    arena_init(&scratch);
    SortKey *order = RAW_ARRAY(&scratch, SortKey, diags->count);
    size_t count = 0;
    for (size_t i = 0; i < diags->count; i++)
        if (diags->items[i].has_place && diags->items[i].severity != DIAG_NOTE)
            order[count++] = (SortKey){diags->items[i].span.begin, (uint32_t)i};
    sort_keys(order, count, &scratch);
    Path path = {.arena = &scratch};
    JsonScan scan = json_scan(source);
    for (size_t next = 0; next < count;) {
        JsonToken token = json_scan_next(&scan);
        size_t depth = step(&path, token, &scan);
        Str text = {0};
        for (; next < count && (token == JSON_END || order[next].key < scan.span.end); next++) {
            if (!text.text) text = path_text(&path, depth, diags->arena);
            put_path(&diags->items[order[next].id], diags->arena, text);
        }
    }
    arena_free(&scratch);
}
