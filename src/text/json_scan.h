/* Walks the tokens of a JSON text to tell where its values stand. The parser is jansson, which does
 * not keep that. */
#ifndef TEXT_JSON_SCAN_H
#define TEXT_JSON_SCAN_H

#include "support/source.h"

typedef enum {
    JSON_OPEN,  /* `[` or `{`: a value begins */
    JSON_CLOSE, /* its end */
    JSON_KEY,   /* a string before `:` */
    JSON_SCALAR,
    JSON_END /* of the text */
} JsonToken;

typedef struct {
    const char *text;
    uint32_t length, at; /* bytes; the next to look at */
    Span span;           /* of the token, quotes included */
} JsonScan;

bool json_is_space(char c);

JsonScan json_scan(const Source *source);

/* The next token; commas and colons are passed over. Makes some sense of any text at all. */
JsonToken json_scan_next(JsonScan *scan);

/* One value. Values stand in the order of the text, each before those that it contains. */
typedef struct {
    Span span;
    Span key;      /* of the key before it, empty if it is not a member */
    uint32_t size; /* values that it consists of, itself included */
} JsonValue;

/* Where every value of a valid JSON text stands. O(length). */
const JsonValue *json_values(const Source *source, Arena *arena);

/* What is wrong in a text that is no valid JSON, as far as `end` was read: the token that ends
 * there or that `end` lies in, or the comma or colon before it, or the end of the text. Returns its
 * path: its own where it stands in a value's place (`of_key`: where it is a key), else that of the
 * array or object around it. O(length). */
Str json_find_fault(const Source *source, uint32_t end, bool of_key, Span *span, Arena *arena);

#endif
