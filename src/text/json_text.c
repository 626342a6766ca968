#include "text/json_text.h"

#include <string.h>

#include "support/search.h"

/* ---- members of objects ---- */

Span json_span_of(const JsonReader *reader, JsonNode node) {
    return reader->places[node.place].span;
}

static const char *kind_name(JsonKind kind) {
    static const char *const NAMES[] = {"a string", "a number",  "true or false",
                                        "an array", "an object", "an array, an object or null",
                                        "anything"};
    return NAMES[kind];
}

static bool kind_fits(JsonKind kind, const json_t *value) {
    switch (kind) {
    case IS_TEXT:
        return json_is_string(value);
    case IS_NUMBER:
        return json_is_integer(value);
    case IS_FLAG:
        return json_is_boolean(value);
    case IS_LIST:
        return json_is_array(value);
    case IS_OBJECT:
        return json_is_object(value);
    case IS_PLACEMENT:
        return json_is_array(value) || json_is_object(value);
    case IS_DERIVED:
        return true;
    }
    return false;
}

bool json_check_kind(JsonReader *reader, JsonNode node, JsonKind kind) {
    if (kind == IS_NUMBER && json_is_real(node.value))
        JSON_COMPLAIN(reader, json_span_of(reader, node),
                      "this must be a whole number, without a point");
    else if (!kind_fits(kind, node.value))
        JSON_COMPLAIN(reader, json_span_of(reader, node), "this must be %s", kind_name(kind));
    else if (kind == IS_NUMBER && json_integer_value(node.value) < 0)
        JSON_COMPLAIN(reader, json_span_of(reader, node), "this must not be negative");
    else
        return true;
    return false;
}

static void complain_of_key(JsonReader *reader, const char *key, Span span,
                            const JsonMember *members, uint32_t count) {
    Str *names = RAW_ARRAY(reader->scratch, Str, count);
    for (uint32_t i = 0; i < count; i++)
        names[i] = str_from(members[i].name);
    Str near = str_nearest(str_from(key), names, count);
    if (near.length > 0)
        JSON_COMPLAIN(reader, span, "unknown key; did you mean '%.*s'?", (int)near.length,
                      near.text);
    else
        JSON_COMPLAIN(reader, span, "unknown key");
}

static uint32_t find_member(const char *key, const JsonMember *members, uint32_t count) {
    uint32_t i = 0;
    while (i < count && strcmp(members[i].name, key) != 0)
        i++;
    return i;
}

bool json_read_members(JsonReader *reader, JsonNode object, const JsonMember *members,
                       uint32_t count, JsonNode *found) {
    const char *key;
    json_t *value;
    memset(found, 0, count * sizeof *found);
    if (!json_check_kind(reader, object, IS_OBJECT)) return false;
    JsonNode node = {NULL, object.place + 1};
    json_object_foreach(object.value, key, value) {
        uint32_t i = find_member(key, members, count);
        node.value = value;
        if (i == count)
            complain_of_key(reader, key, reader->places[node.place].key, members, count);
        else if (members[i].kind == IS_DERIVED || (members[i].nullable && json_is_null(value)))
            ;
        else if (json_check_kind(reader, node, members[i].kind))
            found[i] = node;
        node.place += reader->places[node.place].size;
    }
    for (uint32_t i = 0; i < count; i++)
        if (members[i].required && !json_object_get(object.value, members[i].name))
            JSON_COMPLAIN(reader, json_span_of(reader, object), "'%s' is missing", members[i].name);
    return true;
}

/* ---- writing the text ---- */

uint32_t json_open_mark(JsonReader *reader, JsonNode node) {
    JsonMark mark = {.begin = (uint32_t)reader->out.length,
                     .span = json_span_of(reader, node),
                     .outer = reader->mark};
    uint32_t opened = (uint32_t)reader->nmarks;
    PUSH(reader->scratch, reader->marks, reader->nmarks, reader->mark_capacity, mark);
    reader->mark = opened;
    return opened;
}

void json_close_mark(JsonReader *reader, uint32_t opened) {
    JsonMark *mark = &reader->marks[opened];
    mark->end = (uint32_t)reader->out.length;
    reader->mark = mark->outer;
}

void json_put(JsonReader *reader, const char *text) {
    write_text(&reader->out, text);
}

/* A string of the input as it is. Returns its mark. */
static uint32_t put_string(JsonReader *reader, JsonNode node) {
    Str text = {json_string_value(node.value), (uint32_t)json_string_length(node.value)};
    uint32_t opened = json_open_mark(reader, node);
    JsonMark *mark = &reader->marks[opened];
    write_str(&reader->out, text);
    mark->letter_for_letter = mark->span.end - mark->span.begin == text.length + 2;
    mark->span.begin += mark->letter_for_letter;
    mark->span.end -= mark->letter_for_letter;
    json_close_mark(reader, opened);
    return opened;
}

void json_put_number(JsonReader *reader, JsonNode node) {
    uint32_t opened = json_open_mark(reader, node);
    write_int(&reader->out, json_integer_value(node.value));
    json_close_mark(reader, opened);
}

static void put_quoted(JsonReader *reader, JsonNode node) {
    uint32_t opened = json_open_mark(reader, node);
    write_char(&reader->out, '"');
    for (const char *text = json_string_value(node.value); *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            JSON_COMPLAIN(reader, json_span_of(reader, node), "a control character in a string");
            break;
        }
        if (*text == '"' || *text == '\\') write_char(&reader->out, '\\');
        write_char(&reader->out, *text);
    }
    write_char(&reader->out, '"');
    json_close_mark(reader, opened);
}

void json_put_name(JsonReader *reader, const char *sigil, JsonNode node) {
    uint32_t opened = json_open_mark(reader, node);
    json_put(reader, sigil);
    put_quoted(reader, node);
    json_close_mark(reader, opened);
}

/* True if `text` is a bare name of the text format. */
static bool is_bare(const char *text) {
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char REST[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$0123456789";
    if (!*text || !strchr(LETTERS, *text)) return false;
    for (;;) {
        size_t length = strspn(text, REST);
        if (length == 0) return false;
        text += length;
        if (*text == '\0') return true;
        if (*text++ != '.') return false;
    }
}

void json_put_bare(JsonReader *reader, JsonNode node, const char *what) {
    const char *text = json_string_value(node.value);
    if (is_bare(text))
        put_string(reader, node);
    else
        JSON_COMPLAIN(reader, json_span_of(reader, node), "'%s' cannot be the name of %s", text,
                      what);
}

void json_put_expression(JsonReader *reader, JsonNode node) {
    static const char ALLOWED[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$0123456789"
                                  " \t+-*.<>=!&";
    const char *text = json_string_value(node.value);
    size_t length = strspn(text, ALLOWED);
    const char *mark = strchr(text, '!');
    while (mark && mark[1] == '=')
        mark = strchr(mark + 1, '!');
    if (text[length] || text[strspn(text, " \t")] == '\0' || mark)
        JSON_COMPLAIN(reader, json_span_of(reader, node),
                      "'%s' is not an expression over loop indices", text);
    else
        reader->marks[put_string(reader, node)].expression = true;
}

void json_put_metadata(JsonReader *reader, JsonNode object) {
    const char *key;
    json_t *value;
    JsonNode node = {NULL, object.place + 1};
    if (!object.value) return;
    json_object_foreach(object.value, key, value) {
        Span key_span = reader->places[node.place].key;
        node.value = value;
        if (!is_bare(key)) JSON_COMPLAIN(reader, key_span, "'%s' cannot be a metadata key", key);
        json_put(reader, " !");
        json_put(reader, key);
        if (!json_is_true(value)) json_put(reader, "=");
        if (json_is_string(value))
            put_quoted(reader, node);
        else if (json_is_integer(value) && json_check_kind(reader, node, IS_NUMBER))
            json_put_number(reader, node);
        else if (!json_is_true(value) && !json_is_integer(value))
            JSON_COMPLAIN(reader, json_span_of(reader, node),
                          "this must be true, a number or a string");
        node.place += reader->places[node.place].size;
    }
}

/* ---- places, carried back ---- */

/* The last mark that begins at or before `at`, NO_JSON_MARK if none. */
static uint32_t last_mark(const JsonReader *reader, uint32_t at) {
    size_t behind;
    FIND_FIRST(behind, 0, reader->nmarks, reader->marks[behind].begin > at);
    return behind > 0 ? (uint32_t)behind - 1 : (uint32_t)NO_JSON_MARK;
}

Span json_carry_back(const JsonReader *reader, Span span) {
    uint32_t i = last_mark(reader, span.begin);
    if (i != NO_JSON_MARK && reader->marks[i].expression && span.begin >= reader->marks[i].end &&
        span.begin - reader->marks[i].end <= 1)
        return reader->marks[i].span;
    while (i != NO_JSON_MARK &&
           (reader->marks[i].end < span.end || reader->marks[i].end < span.begin))
        i = reader->marks[i].outer;
    if (i == NO_JSON_MARK) return (Span){0, 0};
    const JsonMark *mark = &reader->marks[i];
    if (!mark->letter_for_letter) return mark->span;
    return (Span){mark->span.begin + (span.begin - mark->begin),
                  mark->span.begin + (span.end - mark->begin)};
}
