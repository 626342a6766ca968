/* What the scanner's rules call: numbers, quoted names, bytes that have no place in a file. */
#include <string.h>

#include "text/reader.h"

bool worth_telling(const Reader *reader, Span span) {
    return !reader->has_lexical || reader->lexical.begin >= span.end ||
           reader->lexical.end <= span.begin;
}

static void note_fault(Reader *reader, Span span) {
    reader->lexical = span;
    reader->has_lexical = true;
    reader->fault = span.begin;
}

void lexical_error(Reader *reader, Span span, const char *message) {
    diag_error(reader->diags, span, "%s", message);
    note_fault(reader, span);
}

bool continues_fault(const Reader *reader, Span span) {
    return reader->has_lexical && reader->lexical.end == span.begin;
}

void extend_fault(Reader *reader, Span span) {
    note_fault(reader, (Span){reader->lexical.begin, span.end});
}

/* Length of the well-formed UTF-8 sequence at `at`, 0 if there is none. */
static uint32_t sequence_length(const unsigned char *at, const unsigned char *end) {
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    if (*at < 0x80) return 1;
    uint32_t length = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2;
    if (*at < 0xC2 || *at > 0xF4 || end - at < length) return 0;
    uint32_t code = *at & (0x7Fu >> length);
    for (uint32_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    if (code < LEAST[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
    return length;
}

static bool is_byte_order_mark(const unsigned char *at, uint32_t length) {
    return length == 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0;
}

/* The first byte of [at, end) that is NUL or not ASCII, eight at a time, or `end`. */
static const unsigned char *skip_ascii(const unsigned char *at, const unsigned char *end) {
    const uint64_t ones = UINT64_MAX / 255, highs = ones << 7;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        if (((word - ones) | word) & highs) break;
    }
    while (at < end && *at != 0 && *at < 0x80)
        at++;
    return at;
}

void check_encoding(Reader *reader) {
    const unsigned char *begin = (const unsigned char *)reader->source->text;
    const unsigned char *end = begin + reader->source->length;
    for (const unsigned char *at = begin; (at = skip_ascii(at, end)) < end;) {
        uint32_t length = *at ? sequence_length(at, end) : 0;
        uint32_t offset = (uint32_t)(at - begin);
        if (is_byte_order_mark(at, length)) {
            diag_error(reader->diags, (Span){offset, offset + 3}, "a byte order mark");
        } else if (*at == 0) {
            diag_error(reader->diags, (Span){offset, offset + 1}, "a NUL byte");
            while (at + 1 < end && at[1] == 0)
                at++;
        } else if (length == 0) {
            diag_error(reader->diags, (Span){offset, offset + 1}, "this is not valid UTF-8");
            while (at + 1 < end && at[1] >= 0x80 && sequence_length(at + 1, end) == 0)
                at++;
        }
        at += length ? length : 1;
    }
}

/* True if check_encoding() has told of every byte of the text. */
static bool told_already(Str text) {
    const unsigned char *at = (const unsigned char *)text.text, *end = at + text.length;
    while (at < end) {
        uint32_t length = *at ? sequence_length(at, end) : 0;
        if (length && !is_byte_order_mark(at, length)) return false;
        at += length ? length : 1;
    }
    return true;
}

void scan_stray(Reader *reader, Str text, Span span) {
    bool adjacent = continues_fault(reader, span);
    bool told = adjacent || told_already(text);
    if (told && adjacent) span.begin = reader->lexical.begin;
    if (!told && *text.text == '\r')
        diag_error(reader->diags, span, "a carriage return without a newline");
    else if (!told)
        diag_error(reader->diags, span, "nothing begins with '%.*s'", STR_ARGS(text));
    note_fault(reader, span);
}

static int digit_value(char c) {
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

int64_t scan_integer(Reader *reader, Str text, Span span) {
    char last = text.text[text.length - 1];
    int64_t unit = last == 'K' ? 1024 : last == 'M' ? 1024 * 1024 : 1;
    uint32_t end = text.length - (unit != 1);
    bool hexadecimal = end > 1 && text.text[1] == 'x';
    int64_t value = 0;
    bool overflow = false;
    for (uint32_t i = hexadecimal ? 2 : 0; i < end && !overflow; i++)
        overflow = __builtin_mul_overflow(value, hexadecimal ? 16 : 10, &value) ||
                   __builtin_add_overflow(value, digit_value(text.text[i]), &value);
    if (overflow || __builtin_mul_overflow(value, unit, &value)) {
        lexical_error(reader, span, "this number is larger than 9223372036854775807");
        return INT64_MAX;
    }
    return value;
}

/* True if a control character begins at text[i]: ASCII's or, as U+0080 to U+009F, Unicode's. */
static bool is_control(Str text, uint32_t i) {
    unsigned char c = (unsigned char)text.text[i];
    if (c < 0x20 || c == 0x7F) return true;
    return c == 0xC2 && i + 1 < text.length && (unsigned char)text.text[i + 1] < 0xA0;
}

/* Tells of the first thing in a quoted text that may not stand there, if any. */
static bool check_quoted(Reader *reader, Str text, uint32_t offset) {
    for (uint32_t i = 0; i < text.length; i++) {
        uint32_t at = offset + i;
        if (is_control(text, i)) {
            lexical_error(reader, (Span){at, at + 1}, "a control character between quotes");
            return false;
        }
        if (text.text[i] != '\\') continue;
        i++;
        if (text.text[i] == '"' || text.text[i] == '\\') continue;
        lexical_error(reader, (Span){at, at + 2}, "the only escapes are '\\\"' and '\\\\'");
        return false;
    }
    return true;
}

/* `text` begins and ends with its quotes; a sigil may stand before it in `span`. */
Str scan_quoted(Reader *reader, Str text, Span span) {
    Str inner = {text.text + 1, text.length - 2};
    bool is_name = span.end - span.begin > text.length;
    if (is_name && inner.length == 0) {
        lexical_error(reader, span, "a name cannot be empty");
        return STR("?");
    }
    if (!check_quoted(reader, inner, span.end - text.length + 1)) return is_name ? STR("?") : inner;
    if (inner.length == 0 || !memchr(inner.text, '\\', inner.length)) return inner;
    char *plain = arena_raw(reader->arena, inner.length, 1);
    uint32_t length = 0;
    for (uint32_t i = 0; i < inner.length; i++) {
        if (inner.text[i] == '\\') i++;
        plain[length++] = inner.text[i];
    }
    return (Str){plain, length};
}
