#include "output/diag_json.h"

#include "output/json_write.h"

static void place_number(JsonOut *json, const char *key, uint32_t number) {
    json_key(json, key);
    if (number > 0)
        json_int(json, number);
    else
        json_null(json);
}

/* `place` has line 0 where the message is about the file as a whole. */
static void write_line(const Source *source, Location place, Severity severity, Str message,
                       Writer *out) {
    JsonOut json;
    json_begin(&json, out, true);
    json_open(&json, '{');
    json_key(&json, "file");
    json_str(&json, source->name);
    place_number(&json, "line", place.line);
    place_number(&json, "column", place.column);
    json_key(&json, "severity");
    json_text(&json, severity_name(severity));
    json_key(&json, "message");
    json_str(&json, message);
    json_close(&json, '}');
    write_char(out, '\n');
}

static void write_rest(const Source *source, uint32_t count, const char *what, Arena *arena,
                       Writer *out) {
    if (count <= DIAG_MOST_SHOWN) return;
    uint32_t more = count - DIAG_MOST_SHOWN;
    Str text = str_format(arena, "%u more %s%s", more, what, more == 1 ? "" : "s");
    write_line(source, (Location){0}, DIAG_NOTE, text, out);
}

void write_diags_json(const DiagQueue *queue, const Source *source, bool quiet, Writer *out) {
    Arena scratch;
    arena_init(&scratch);
    size_t count;
    const Diag **shown = diag_shown(queue, quiet, &scratch, &count);
    for (size_t i = 0; i < count; i++) {
        const Diag *diag = shown[i];
        Location place = {0};
        if (diag->has_place) place = source_place(source, diag->span.begin);
        write_line(source, place, diag->severity, diag_shorten(diag->text, &scratch), out);
    }
    write_rest(source, queue->errors, "error", &scratch, out);
    if (!quiet) write_rest(source, queue->warnings, "warning", &scratch, out);
    arena_free(&scratch);
}
