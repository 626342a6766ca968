/* JSON, written piece by piece: nothing is held in memory. */
#ifndef OUTPUT_JSON_WRITE_H
#define OUTPUT_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/writer.h"

typedef struct {
    Writer *out;
    bool one_line;  /* all on one line; else two blanks of indent a level */
    bool in_html;   /* within a script element: `<` is escaped in strings */
    uint32_t depth; /* objects and arrays that are open */
    bool first;     /* the innermost one is still empty */
    bool after_key; /* a key was written, its value not yet */
} JsonOut;

void json_begin(JsonOut *json, Writer *out, bool one_line);

/* `[` or `{`, and its end. */
void json_open(JsonOut *json, char bracket);
void json_close(JsonOut *json, char bracket);

void json_key(JsonOut *json, const char *key);
void json_str_key(JsonOut *json, Str key);

void json_str(JsonOut *json, Str text);
void json_text(JsonOut *json, const char *text);
void json_int(JsonOut *json, int64_t number);
void json_bool(JsonOut *json, bool value);
void json_null(JsonOut *json);

/* The shortest decimal that reads back as the same number; null for one that is not finite. */
void json_real(JsonOut *json, double number);

/* With `digits` digits behind the point. */
void json_fixed(JsonOut *json, double number, int digits);

#endif
