/* Hints for who knows other languages: what a word or a sign of theirs is here. */
#include <string.h>

#include "text/reader.h"

/* Words of other languages, in small letters with a blank between them, and ours. */
typedef struct {
    const char *meant, *said;
} Synonym;

static const Synonym SYNONYMS[][20] = {
    [WORD_DTYPE] = {{"bf16", "bfloat16 bfloat"},
                    {"f64", "float64 fp64 double"},
                    {"f32", "float32 fp32 tf32 float single"},
                    {"f16", "float16 fp16 half"},
                    {"fp8e3", "float8e3 float8_e3m4 f8e3m4"},
                    {"fp8e4", "float8e4 float8_e4m3 float8_e4m3fn f8e4m3 f8e4m3fn float8 fp8"},
                    {"fp8e5", "float8e5 float8_e5m2 f8e5m2"},
                    {"i64", "int64 s64 long"},
                    {"i32", "int32 s32 int"},
                    {"i16", "int16 s16 short"},
                    {"i8", "int8 s8 char"},
                    {"u64", "uint64"},
                    {"u32", "uint32 uint"},
                    {"u16", "uint16"},
                    {"u8", "uint8 byte bool i1"}},
    [WORD_SPACE] = {{"sb", "sbuf sram state_buffer statebuffer"},
                    {"dram", "hbm ddr shared_hbm private_hbm global"}},
    [WORD_ATTRIBUTE] = {{"input", "in argument"},
                        {"output", "out result"},
                        {"pin", "pinned nospill no_spill"},
                        {"base", "partition start"},
                        {"align", "aligned alignment"},
                        {"at", "address addr offset fixed"}},
    [WORD_LINE] = {{"loop", "for while repeat"}, {"func", "function fn def define"}},
};

/* Whether `word` is one of a list of words with a blank between them. */
static bool is_among(Str word, const char *list) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, " ");
        if (length == word.length && memcmp(at, word.text, length) == 0) return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

static Str in_small_letters(Arena *arena, Str word) {
    char *text = arena_raw(arena, word.length + 1, 1);
    for (uint32_t i = 0; i < word.length; i++)
        text[i] =
            word.text[i] >= 'A' && word.text[i] <= 'Z' ? (char)(word.text[i] | 0x20) : word.text[i];
    return (Str){text, word.length};
}

/* What the word, in small letters, is called here, or nothing. */
static Str synonym(WordKind kind, Str word) {
    for (const Synonym *row = SYNONYMS[kind]; row->meant; row++)
        if (is_among(word, row->said)) return str_from(row->meant);
    return STR("");
}

Str word_hint(Reader *reader, WordKind kind, Str name, const Str *known, uint32_t count) {
    enum { LONGEST = 32 };
    if (name.length > LONGEST) return STR("");
    Str small = in_small_letters(&reader->scratch, name);
    Str meant = synonym(kind, small);
    for (uint32_t i = 0; i < count; i++)
        if (str_equal(small, known[i])) meant = small;
    if (meant.length == 0) return did_you_mean(reader, "", small, known, count);
    return str_format(&reader->scratch, "; did you mean '%.*s'?", STR_ARGS(meant));
}

/* ---- syntax ---- */

static bool is_blank_byte(char c) {
    return c == ' ' || c == '\t';
}

static bool is_word_byte(char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* The word that begins the line of byte `at`; nothing where that is far or none does. */
static Str first_word(const Source *source, uint32_t at) {
    enum { FAR = 1000 };
    const char *text = source->text;
    uint32_t begin = at, far = at > FAR ? at - FAR : 0;
    while (begin > far && text[begin - 1] != '\n')
        begin--;
    if (begin > 0 && text[begin - 1] != '\n') return STR("");
    while (begin < at && is_blank_byte(text[begin]))
        begin++;
    uint32_t end = begin;
    while (end < source->length && is_word_byte(text[end]))
        end++;
    return (Str){text + begin, end - begin};
}

/* True if nothing but blanks stands between the word and byte `at`, or `at` is in the word. */
static bool is_beside(const Source *source, Str word, uint32_t at) {
    uint32_t end = (uint32_t)(word.text - source->text) + word.length;
    while (end < at && is_blank_byte(source->text[end]))
        end++;
    return end >= at;
}

/* A line that was meant to begin with a word of ours. */
static Str line_hint(Reader *reader, Span span, bool at_type) {
    static const Str OURS[] = {{"func", 4}, {"loop", 4}, {"target", 6}, {"tensor", 6}};
    Str word = first_word(reader->source, span.begin);
    if (word.length == 0 || (!at_type && !is_beside(reader->source, word, span.begin)))
        return STR("");
    for (int i = 0; i < 4; i++)
        if (str_equal(word, OURS[i])) return STR("");
    Str meant = synonym(WORD_LINE, word);
    if (str_is(meant, "loop")) return STR("; a loop is 'loop NAME = LOW..HIGH {'");
    if (str_is(meant, "func")) return STR("; a function is 'func @NAME {'");
    return did_you_mean(reader, "", word, at_type ? &OURS[3] : OURS, at_type ? 1 : 4);
}

/* A sign or word at fault, where one of ours would do (NULL: anywhere), and what is said of it. */
typedef struct {
    const char *found, *expected, *hint;
} SignHint;

static const SignHint SIGN_HINTS[] = {
    {"=", "'=='", "; did you mean '=='?"},
    {"and", "'&&'", "; conditions are joined by '&&'"},
    {"or", "'&&'", "; '&&' alone joins conditions: write the instruction once for each of them"},
    {":", "'..'", "; a range is LOW..HIGH"},
    {"(", "a tensor name", "; operands have no parentheses around them"},
    {"%", "'mod'", "; a remainder is 'i mod 2'"},
};

Str syntax_hint(Reader *reader, Span span, const char *const *expected, int count) {
    const Source *source = reader->source;
    Str found = {source->text + span.begin, span.end - span.begin};
    for (size_t i = 0; i < sizeof SIGN_HINTS / sizeof *SIGN_HINTS; i++) {
        const SignHint *row = &SIGN_HINTS[i];
        bool begins = *row->found == '%' && found.length > 1 && *found.text == '%';
        if ((begins || str_is(found, row->found)) && is_expected(expected, count, row->expected))
            return str_from(row->hint);
    }
    return line_hint(reader, span, found.length > 1 && *found.text == ':');
}

/* ---- signs that nothing begins with ---- */

/* True if nothing but blanks stands before byte `at` of its line. */
static bool begins_line(const char *text, uint32_t at) {
    while (at > 0 && is_blank_byte(text[at - 1]))
        at--;
    return at == 0 || text[at - 1] == '\n';
}

bool scan_semicolon(Reader *reader, Span span) {
    const char *text = reader->source->text;
    bool comment = begins_line(text, span.begin);
    if (continues_fault(reader, span))
        extend_fault(reader, span);
    else
        lexical_error(reader, span,
                      comment ? "nothing begins with ';'; a comment begins with '#'"
                              : "a statement ends with its line, without a ';'");
    return comment && span.end < reader->source->length && text[span.end] != '\n' &&
           text[span.end] != '\r';
}

void scan_percent(Reader *reader, Span span) {
    bool remainder = !begins_line(reader->source->text, span.begin);
    lexical_error(reader, span,
                  remainder ? "a tensor's name must follow '%'; a remainder is 'i mod 2'"
                            : "a tensor's name must follow '%'");
}

/* ---- braces ---- */

/* Blanks at the start of the line of byte `at`; UINT32_MAX where the start is far. */
static uint32_t indent_of(const Source *source, uint32_t at) {
    Str word = first_word(source, at);
    if (!word.text || !*word.text) return UINT32_MAX;
    uint32_t begin = (uint32_t)(word.text - source->text), indent = 0;
    while (begin > indent && is_blank_byte(source->text[begin - indent - 1]))
        indent++;
    return indent;
}

void open_brace(Reader *reader, Span span) {
    PUSH(&reader->scratch, reader->braces, reader->nbraces, reader->brace_capacity, span);
}

void close_brace(Reader *reader, Span span) {
    if (reader->nbraces == 0) return;
    Span open = reader->braces[--reader->nbraces];
    if (reader->has_askew || !begins_line(reader->source->text, span.begin)) return;
    reader->has_askew =
        indent_of(reader->source, open.begin) != indent_of(reader->source, span.begin);
    reader->askew = open;
}

void note_braces(Reader *reader) {
    if (reader->nbraces == 0) return;
    diag_note(reader->diags, reader->braces[reader->nbraces - 1], true, "this '{' has no '}'");
    if (reader->has_askew)
        diag_note(reader->diags, reader->askew, true,
                  "or this one: the '}' that closes it is indented otherwise");
}
