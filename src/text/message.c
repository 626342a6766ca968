/* Messages of the reader: syntax errors and suggestions. */
#include <string.h>

#include "text/reader.h"
#include "text/word.h"

/* As many errors are shown; and so many names are compared in all, for the sake of time. */
enum { SUGGESTIONS = 20, MOST_COMPARED = 1000000 };

/* True if a lexical error explains why the parser stumbled: one on the same line, or one with
 * nothing but blanks and newlines behind it. */
static bool follows_lexical_error(const Reader *reader, Span span) {
    if (!reader->has_lexical || reader->lexical.begin > span.begin) return false;
    const char *text = reader->source->text;
    uint32_t length = span.begin - reader->lexical.begin;
    if (!memchr(text + reader->lexical.begin, '\n', length)) return true;
    uint32_t at = reader->lexical.end;
    while (at < span.begin && strchr(" \t\r\n", text[at]))
        at++;
    return at >= span.begin;
}

/* "'a', 'b' or 'c'" */
static Str join(Arena *arena, const char *const *words, int count) {
    Str text = STR("");
    for (int i = 0; i < count; i++)
        text = str_format(arena, "%.*s%s%s", STR_ARGS(text),
                          i == 0           ? ""
                          : i + 1 == count ? " or "
                                           : ", ",
                          words[i]);
    return text;
}

bool is_expected(const char *const *expected, int count, const char *token) {
    for (int i = 0; i < count; i++)
        if (strcmp(expected[i], token) == 0) return true;
    return false;
}

static void forget_statement(Reader *reader) {
    reader->noperands = reader->nterms = reader->ncompares = reader->nmetas = reader->nvalues = 0;
    reader->bad_index = false;
}

/* Told once: what follows the first function that is within another is within it too. */
static void tell_brace(Reader *reader, Span span, const char *message) {
    if (reader->told_brace) return;
    diag_error(reader->diags, span, "%s", message);
    note_braces(reader);
    reader->told_brace = true;
}

/* The name of a function behind `func` at the start of a line within a function. */
static bool begins_inner_func(const Reader *reader, Span span) {
    const char *text = reader->source->text;
    uint32_t at = span.begin;
    if (reader->nbraces == 0 || at >= reader->source->length || text[at] != '@') return false;
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'))
        at--;
    return at >= 5 && memcmp(text + at - 5, "\nfunc", 5) == 0;
}

void report_syntax(Reader *reader, Span span, const char *found, const char *const *expected,
                   int count) {
    forget_statement(reader);
    bool told = follows_lexical_error(reader, span);
    reader->fault = span.begin;
    if (told) return;
    if (span.begin == reader->source->length) found = "end of file";
    if (span.begin == reader->source->length && is_expected(expected, count, "'}'")) {
        tell_brace(reader, span, "found end of file, but a '}' is missing");
        return;
    }
    if (begins_inner_func(reader, span)) {
        tell_brace(reader, span, "found a function within another: a '}' is missing");
        return;
    }
    /* Tokens of more than one spelling are shown as they stand. */
    bool varies = *found != '\'' && strncmp(found, "end", 3) != 0 && span.end > span.begin;
    Str shown = str_from(found);
    if (varies)
        shown = str_format(&reader->scratch, "'%.*s'", (int)(span.end - span.begin),
                           reader->source->text + span.begin);
    if (count == 0)
        diag_error(reader->diags, span, "%.*s", STR_ARGS(shown));
    else
        diag_error(reader->diags, span, "found %.*s, expected %.*s%.*s", STR_ARGS(shown),
                   STR_ARGS(join(&reader->scratch, expected, count)),
                   STR_ARGS(syntax_hint(reader, span, expected, count)));
}

bool may_suggest(const Reader *reader, uint32_t count) {
    return reader->diags->errors < SUGGESTIONS && reader->compared + count <= MOST_COMPARED;
}

Str did_you_mean(Reader *reader, const char *sigil, Str name, const Str *known, uint32_t count) {
    if (!may_suggest(reader, count)) return STR("");
    reader->compared += count;
    Str nearest = str_nearest(name, known, count);
    if (nearest.length == 0) return STR("");
    if (*sigil) {
        Str label = label_text(&reader->scratch, *sigil, nearest);
        return str_format(&reader->scratch, "; did you mean %.*s?", STR_ARGS(label));
    }
    return str_format(&reader->scratch, "; did you mean '%.*s'?", STR_ARGS(nearest));
}
