#include "support/diag.h"

#include <stdarg.h>
#include <string.h>

#include "support/sort.h"
#include "support/writer.h"

void diag_init(DiagQueue *queue, Arena *arena) {
    *queue = (DiagQueue){.arena = arena};
}

__attribute__((format(printf, 2, 0))) static Str format_text(Arena *arena, const char *format,
                                                             va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return STR("");
    char *text = arena_raw(arena, (size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return (Str){text, (uint32_t)length};
}

static void push(DiagQueue *queue, Diag diag) {
    diag.order = (uint32_t)queue->count;
    queue->errors += diag.severity == DIAG_ERROR;
    queue->warnings += diag.severity == DIAG_WARNING;
    PUSH(queue->arena, queue->items, queue->count, queue->capacity, diag);
}

#define FORMATTED(queue, format)                                                                   \
    va_list args;                                                                                  \
    va_start(args, format);                                                                        \
    Str text = format_text((queue)->arena, (format), args);                                        \
    va_end(args)

void diag_error(DiagQueue *queue, Span span, const char *format, ...) {
    FORMATTED(queue, format);
    push(queue, (Diag){.severity = DIAG_ERROR, .span = span, .has_place = true, .text = text});
}

void diag_warning(DiagQueue *queue, Span span, const char *format, ...) {
    FORMATTED(queue, format);
    push(queue, (Diag){.severity = DIAG_WARNING, .span = span, .has_place = true, .text = text});
}

void diag_note(DiagQueue *queue, Span span, bool with_source, const char *format, ...) {
    FORMATTED(queue, format);
    push(queue, (Diag){.severity = DIAG_NOTE,
                       .span = span,
                       .has_place = true,
                       .no_source = !with_source,
                       .text = text});
}

void diag_file_error(DiagQueue *queue, const char *format, ...) {
    FORMATTED(queue, format);
    push(queue, (Diag){.severity = DIAG_ERROR, .text = text});
}

void diag_file_warning(DiagQueue *queue, const char *format, ...) {
    FORMATTED(queue, format);
    push(queue, (Diag){.severity = DIAG_WARNING, .text = text});
}

void diag_append(DiagQueue *to, const DiagQueue *from) {
    for (size_t i = 0; i < from->count; i++)
        push(to, from->items[i]);
}

void diag_clear(DiagQueue *queue) {
    queue->count = 0;
    queue->errors = queue->warnings = 0;
}

/* Positions of the queue's items in order of place; a note goes with the item that it explains. */
static SortKey *in_order(const DiagQueue *queue, Arena *scratch) {
    SortKey *order = RAW_ARRAY(scratch, SortKey, queue->count);
    uint64_t key = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const Diag *diag = &queue->items[i];
        if (diag->severity != DIAG_NOTE || i == 0)
            key = diag->has_place ? (uint64_t)diag->span.begin + 1 : 0;
        order[i] = (SortKey){key, (uint32_t)i};
    }
    sort_keys(order, queue->count, scratch);
    return order;
}

const Diag **diag_shown(const DiagQueue *queue, bool quiet, Arena *arena, size_t *count) {
    SortKey *order = in_order(queue, arena);
    const Diag **list = RAW_ARRAY(arena, const Diag *, queue->count);
    uint32_t errors = 0, warnings = 0;
    bool shown = false;
    *count = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const Diag *diag = &queue->items[order[i].id];
        if (diag->severity == DIAG_ERROR) shown = ++errors <= DIAG_MOST_SHOWN;
        if (diag->severity == DIAG_WARNING) shown = ++warnings <= DIAG_MOST_SHOWN && !quiet;
        if (shown) list[(*count)++] = diag;
    }
    return list;
}

const char *severity_name(Severity severity) {
    static const char *const NAMES[] = {"error", "warning", "note"};
    return NAMES[severity];
}

static const char *const SEVERITY_COLORS[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};

/* The last place at or before `at` where a character of UTF-8 begins. */
static uint32_t character_start(Str text, uint32_t at) {
    while (at > 0 && at < text.length && ((unsigned char)text.text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* The text; of one longer than `most` bytes only about `kept` at each end. */
static void write_short(Str text, uint32_t most, uint32_t kept, Writer *out) {
    if (text.length <= most) {
        write_str(out, text);
        return;
    }
    uint32_t tail = character_start(text, text.length - kept);
    write_str(out, (Str){text.text, character_start(text, kept)});
    write_text(out, "...");
    write_str(out, (Str){text.text + tail, text.length - tail});
}

Str diag_shorten(Str text, Arena *arena) {
    enum { LONGEST_WORD = 200, WORD_END = 90, LONGEST_TEXT = 1000, TEXT_END = 480 };
    if (text.length <= LONGEST_WORD) return text;
    Writer words, whole;
    writer_to_memory(&words);
    writer_to_memory(&whole);
    for (uint32_t at = 0; at < text.length; at++) {
        Str word = {text.text + at, 0};
        while (at + word.length < text.length && word.text[word.length] != ' ')
            word.length++;
        write_short(word, LONGEST_WORD, WORD_END, &words);
        at += word.length;
        if (at < text.length) write_char(&words, ' ');
    }
    Str shorter = {words.buffer, (uint32_t)words.length};
    write_short(shorter, LONGEST_TEXT, TEXT_END, &whole);
    shorter = (Str){arena_copy(arena, whole.buffer, whole.length), (uint32_t)whole.length};
    writer_free(&words);
    writer_free(&whole);
    return shorter;
}

/* Writes text that came from the input: control characters, U+0080 to U+009F among them, must not
 * reach a terminal. */
static void put_clean(Str text, Writer *out) {
    for (uint32_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.text[i];
        unsigned char next = i + 1 < text.length ? (unsigned char)text.text[i + 1] : 0;
        bool wide_control = c == 0xC2 && next >= 0x80 && next < 0xA0;
        bool control = (c < 0x20 && c != '\t') || c == 0x7F || wide_control;
        write_char(out, control ? '?' : text.text[i]);
        i += wide_control;
    }
}

/* The caret line: tabs of the source are kept so that the caret stands under its token. Long lines
 * are shown as a window around the place. */
static void print_source_line(Location place, Span span, DiagStyle style, Writer *out) {
    enum { WINDOW = 160, BEFORE = 60 };
    Str line = place.text;
    uint32_t column = place.column - 1 < line.length ? place.column - 1 : line.length;
    if (line.length > WINDOW) {
        uint32_t cut = character_start(line, column > BEFORE ? column - BEFORE : 0);
        line.text += cut;
        line.length -= cut;
        column -= cut;
        uint32_t end = line.length > WINDOW ? character_start(line, WINDOW) : line.length;
        line.length = end > column ? end : column;
    }
    write_format(out, "%5u | ", place.line);
    put_clean(line, out);
    write_text(out, "\n      | ");
    for (uint32_t i = 0; i < column; i++) {
        unsigned char c = (unsigned char)line.text[i];
        if ((c & 0xC0) != 0x80) write_char(out, c == '\t' ? '\t' : ' ');
    }
    if (style.color) write_text(out, "\033[1;32m");
    write_char(out, '^');
    for (uint32_t i = 1; i < span.end - span.begin && column + i < line.length; i++)
        if (((unsigned char)line.text[column + i] & 0xC0) != 0x80) write_char(out, '~');
    if (style.color) write_text(out, "\033[0m");
    write_char(out, '\n');
}

static void print_one(const Diag *diag, const Source *source, DiagStyle style, Arena *scratch,
                      Writer *out) {
    Location place = {0};
    if (style.color) write_text(out, "\033[1m");
    put_clean(source->name, out);
    if (diag->has_place) {
        place = source_place(source, diag->span.begin);
        write_format(out, ":%u:%u", place.line, place.column);
    }
    write_text(out, ": ");
    if (style.color) write_text(out, SEVERITY_COLORS[diag->severity]);
    write_format(out, "%s: ", severity_name(diag->severity));
    if (style.color) write_text(out, "\033[0m");
    put_clean(diag_shorten(diag->text, scratch), out);
    write_char(out, '\n');
    if (diag->has_place && !diag->no_source) print_source_line(place, diag->span, style, out);
}

/* How many more there were than are shown. */
static void print_rest(const Source *source, uint32_t count, const char *what, Writer *out) {
    if (count <= DIAG_MOST_SHOWN) return;
    uint32_t more = count - DIAG_MOST_SHOWN;
    put_clean(source->name, out);
    write_format(out, ": %u more %s%s\n", more, what, more == 1 ? "" : "s");
}

void diag_print(DiagQueue *queue, const Source *source, DiagStyle style, FILE *out) {
    if (queue->count == 0) return;
    Arena scratch;
    arena_init(&scratch);
    size_t count;
    const Diag **shown = diag_shown(queue, style.quiet, &scratch, &count);
    Writer text; /* standard error has no buffer of its own */
    writer_to_memory(&text);
    for (size_t i = 0; i < count; i++)
        print_one(shown[i], source, style, &scratch, &text);
    print_rest(source, queue->errors, "error", &text);
    if (!style.quiet) print_rest(source, queue->warnings, "warning", &text);
    fwrite(text.buffer, 1, text.length, out);
    writer_free(&text);
    diag_clear(queue);
    arena_free(&scratch);
}
