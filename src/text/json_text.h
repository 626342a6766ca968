/* For the reader of JSON: the members of objects, and the text of `.lf` that is written from them.
 * Not for other layers. */
#ifndef TEXT_JSON_TEXT_H
#define TEXT_JSON_TEXT_H

#include <jansson.h>

#include "support/diag.h"
#include "support/writer.h"
#include "text/json_scan.h"

/* A value and where it stands. */
typedef struct {
    json_t *value;  /* NULL where a member is missing or null */
    uint32_t place; /* its position in JsonReader.places */
} JsonNode;

/* Bytes [begin, end) of the text were written from a value. Marks nest and are in order of `begin`,
 * an outer one before those in it. */
typedef struct {
    uint32_t begin, end;
    Span span;              /* of the value */
    uint32_t outer;         /* the mark around it, NO_JSON_MARK if none */
    bool letter_for_letter; /* the text stands at span.begin just so */
    bool expression;        /* in the grammar of the text format */
} JsonMark;

#define NO_JSON_MARK UINT32_MAX

typedef struct {
    const Source *source;
    Arena *scratch; /* freed when the file is read */
    DiagQueue *diags;
    const JsonValue *places; /* of all values, in the order of the text */
    Writer out;              /* the text of `.lf` */
    JsonMark *marks;         /* in scratch */
    size_t nmarks, mark_capacity;
    uint32_t mark; /* the innermost open one, NO_JSON_MARK if none */
} JsonReader;

#define JSON_COMPLAIN(reader, span, ...) diag_error((reader)->diags, (span), __VA_ARGS__)

/* What a member must be; IS_DERIVED is not looked at. */
typedef enum { IS_TEXT, IS_NUMBER, IS_FLAG, IS_LIST, IS_OBJECT, IS_PLACEMENT, IS_DERIVED } JsonKind;

typedef struct {
    const char *name;
    JsonKind kind;
    bool required, nullable; /* `nullable`: null is as if it were missing */
} JsonMember;

/* Where a value stands. */
Span json_span_of(const JsonReader *reader, JsonNode node);

/* Requires a value of kind `kind`; a number must not be negative. */
bool json_check_kind(JsonReader *reader, JsonNode node, JsonKind kind);

/* Sorts the members of an object into `found`, [count], and complains of those that are unknown,
 * missing or of the wrong kind, which are left out. False if `object` is none. */
bool json_read_members(JsonReader *reader, JsonNode object, const JsonMember *members,
                       uint32_t count, JsonNode *found);

/* Walks an array: `node` is each element in turn. */
#define JSON_EACH(reader, list, node, i)                                                           \
    JsonNode node = {NULL, (list).place + 1};                                                      \
    for (size_t i = 0;                                                                             \
         i < json_array_size((list).value) && (node.value = json_array_get((list).value, i));      \
         node.place += (reader)->places[node.place].size, i++)

/* What is written between the two counts as written from the value. The first returns the mark. */
uint32_t json_open_mark(JsonReader *reader, JsonNode node);
void json_close_mark(JsonReader *reader, uint32_t opened);

/* Text of the format itself. */
void json_put(JsonReader *reader, const char *text);

/* Text from a value of the kind that it must have. */
void json_put_number(JsonReader *reader, JsonNode node);
void json_put_name(JsonReader *reader, const char *sigil, JsonNode node);
void json_put_metadata(JsonReader *reader, JsonNode object);

/* A bare name; `what` it names is for the message where it cannot be one. */
void json_put_bare(JsonReader *reader, JsonNode node, const char *what);

/* A string in the grammar of the text format, which must not leave its place there. */
void json_put_expression(JsonReader *reader, JsonNode node);

/* The place of the smallest value from which all of `span` was written. What stands right behind an
 * expression is where a shorter one than expected is noticed: that is the expression's fault. */
Span json_carry_back(const JsonReader *reader, Span span);

#endif
