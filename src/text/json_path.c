/* Names the paths of places in a JSON text: `functions[0].tensors[3].shape`. */
#include <stdio.h>

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
    if (path.length == 0) return;
    diag->text = str_format(arena, "%.*s: %.*s", (int)path.length, path.text,
                            (int)diag->text.length, diag->text.text);
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
