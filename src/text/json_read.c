/* JSON is read by writing it as `.lf` and reading that, so that both have one parser and one set
 * of checks. What is checked here is only what makes it JSON of the right form; places are carried
 * back from the text that was written to the values it was written from. */
#include "text/json_read.h"

#include <jansson.h>
#include <string.h>

#include "support/writer.h"
#include "text/json_scan.h"
#include "text/parse.h"

/* A value and where it stands. */
typedef struct {
    json_t *value;  /* NULL where a member is missing or null */
    uint32_t place; /* its position in JsonReader.places */
} Node;

/* Bytes [begin, end) of the text were written from a value. Marks nest and are in order of `begin`,
 * an outer one before those in it. */
typedef struct {
    uint32_t begin, end;
    Span span;
    uint32_t outer;         /* the mark around it, NO_MARK if none */
    bool letter_for_letter; /* the text stands at span.begin just so */
    bool expression;
} Mark;

enum { NO_MARK = UINT32_MAX };

typedef struct {
    const Source *source;
    Arena *scratch;
    DiagQueue *diags;
    const JsonValue *places;
    Writer out; /* the text */
    Mark *marks;
    size_t nmarks, mark_capacity;
    uint32_t mark; /* the innermost open one */
} JsonReader;

bool source_is_json(const Source *source) {
    return source->length > 0 && source->text[0] == '{';
}

/* ---- members of objects ---- */

typedef enum { IS_TEXT, IS_NUMBER, IS_FLAG, IS_LIST, IS_OBJECT, IS_PLACEMENT, IS_DERIVED } Kind;

/* `derived` members are not looked at. */
typedef struct {
    const char *name;
    Kind kind;
    bool required, nullable;
} Member;

static Span span_of(const JsonReader *reader, Node node) {
    return reader->places[node.place].span;
}

#define COMPLAIN(reader, span, ...) diag_error((reader)->diags, (span), __VA_ARGS__)

static const char *kind_name(Kind kind) {
    static const char *const NAMES[] = {"a string", "a number",  "true or false",
                                        "an array", "an object", "an array, an object or null",
                                        "anything"};
    return NAMES[kind];
}

static bool kind_fits(Kind kind, const json_t *value) {
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

/* Requires a value of kind `kind`; a number must not be negative. */
static bool check_kind(JsonReader *reader, Node node, Kind kind) {
    if (kind == IS_NUMBER && json_is_real(node.value))
        COMPLAIN(reader, span_of(reader, node), "this must be a whole number, without a point");
    else if (!kind_fits(kind, node.value))
        COMPLAIN(reader, span_of(reader, node), "this must be %s", kind_name(kind));
    else if (kind == IS_NUMBER && json_integer_value(node.value) < 0)
        COMPLAIN(reader, span_of(reader, node), "this must not be negative");
    else
        return true;
    return false;
}

static void complain_of_key(JsonReader *reader, const char *key, Span span, const Member *members,
                            uint32_t count) {
    Str *names = RAW_ARRAY(reader->scratch, Str, count);
    for (uint32_t i = 0; i < count; i++)
        names[i] = str_from(members[i].name);
    Str near = str_nearest(str_from(key), names, count);
    if (near.length > 0)
        COMPLAIN(reader, span, "unknown key; did you mean '%.*s'?", (int)near.length, near.text);
    else
        COMPLAIN(reader, span, "unknown key");
}

static uint32_t find_member(const char *key, const Member *members, uint32_t count) {
    uint32_t i = 0;
    while (i < count && strcmp(members[i].name, key) != 0)
        i++;
    return i;
}

/* Sorts the members of an object into `found`, [count], and complains of those that are unknown,
 * missing or of the wrong kind, which are left out. False if `object` is none. */
static bool read_members(JsonReader *reader, Node object, const Member *members, uint32_t count,
                         Node *found) {
    const char *key;
    json_t *value;
    memset(found, 0, count * sizeof *found);
    if (!check_kind(reader, object, IS_OBJECT)) return false;
    Node node = {NULL, object.place + 1};
    json_object_foreach(object.value, key, value) {
        uint32_t i = find_member(key, members, count);
        node.value = value;
        if (i == count)
            complain_of_key(reader, key, reader->places[node.place].key, members, count);
        else if (members[i].kind == IS_DERIVED || (members[i].nullable && json_is_null(value)))
            ;
        else if (check_kind(reader, node, members[i].kind))
            found[i] = node;
        node.place += reader->places[node.place].size;
    }
    for (uint32_t i = 0; i < count; i++)
        if (members[i].required && !json_object_get(object.value, members[i].name))
            COMPLAIN(reader, span_of(reader, object), "'%s' is missing", members[i].name);
    return true;
}

/* Walks an array: `node` is each element in turn. */
#define EACH(reader, list, node, i)                                                                \
    Node node = {NULL, (list).place + 1};                                                          \
    for (size_t i = 0;                                                                             \
         i < json_array_size((list).value) && (node.value = json_array_get((list).value, i));      \
         node.place += (reader)->places[node.place].size, i++)

/* ---- writing the text ---- */

static uint32_t open_mark(JsonReader *reader, Node node) {
    Mark mark = {.begin = (uint32_t)reader->out.length,
                 .span = span_of(reader, node),
                 .outer = reader->mark};
    uint32_t opened = (uint32_t)reader->nmarks;
    PUSH(reader->scratch, reader->marks, reader->nmarks, reader->mark_capacity, mark);
    reader->mark = opened;
    return opened;
}

static void close_mark(JsonReader *reader, uint32_t opened) {
    Mark *mark = &reader->marks[opened];
    mark->end = (uint32_t)reader->out.length;
    reader->mark = mark->outer;
}

static void put(JsonReader *reader, const char *text) {
    write_text(&reader->out, text);
}

/* A string of the input as it is. Returns its mark. */
static uint32_t put_string(JsonReader *reader, Node node) {
    Str text = {json_string_value(node.value), (uint32_t)json_string_length(node.value)};
    uint32_t opened = open_mark(reader, node);
    Mark *mark = &reader->marks[opened];
    write_str(&reader->out, text);
    mark->letter_for_letter = mark->span.end - mark->span.begin == text.length + 2;
    mark->span.begin += mark->letter_for_letter;
    mark->span.end -= mark->letter_for_letter;
    close_mark(reader, opened);
    return opened;
}

static void put_number(JsonReader *reader, Node node) {
    uint32_t opened = open_mark(reader, node);
    write_int(&reader->out, json_integer_value(node.value));
    close_mark(reader, opened);
}

static void put_quoted(JsonReader *reader, Node node) {
    uint32_t opened = open_mark(reader, node);
    write_char(&reader->out, '"');
    for (const char *text = json_string_value(node.value); *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            COMPLAIN(reader, span_of(reader, node), "a control character in a string");
            break;
        }
        if (*text == '"' || *text == '\\') write_char(&reader->out, '\\');
        write_char(&reader->out, *text);
    }
    write_char(&reader->out, '"');
    close_mark(reader, opened);
}

static void put_name(JsonReader *reader, const char *sigil, Node node) {
    uint32_t opened = open_mark(reader, node);
    put(reader, sigil);
    put_quoted(reader, node);
    close_mark(reader, opened);
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

static void put_bare(JsonReader *reader, Node node, const char *what) {
    const char *text = json_string_value(node.value);
    if (is_bare(text))
        put_string(reader, node);
    else
        COMPLAIN(reader, span_of(reader, node), "'%s' cannot be the name of %s", text, what);
}

/* A string in the grammar of the text format, which must not leave its place there. */
static void put_expression(JsonReader *reader, Node node) {
    static const char ALLOWED[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$0123456789"
                                  " \t+-*.<>=!&";
    const char *text = json_string_value(node.value);
    size_t length = strspn(text, ALLOWED);
    const char *mark = strchr(text, '!');
    while (mark && mark[1] == '=')
        mark = strchr(mark + 1, '!');
    if (text[length] || text[strspn(text, " \t")] == '\0' || mark)
        COMPLAIN(reader, span_of(reader, node), "'%s' is not an expression over loop indices",
                 text);
    else
        reader->marks[put_string(reader, node)].expression = true;
}

static void put_metadata(JsonReader *reader, Node object) {
    const char *key;
    json_t *value;
    Node node = {NULL, object.place + 1};
    if (!object.value) return;
    json_object_foreach(object.value, key, value) {
        Span key_span = reader->places[node.place].key;
        node.value = value;
        if (!is_bare(key)) COMPLAIN(reader, key_span, "'%s' cannot be a metadata key", key);
        put(reader, " !");
        put(reader, key);
        if (!json_is_true(value)) put(reader, "=");
        if (json_is_string(value))
            put_quoted(reader, node);
        else if (json_is_integer(value) && check_kind(reader, node, IS_NUMBER))
            put_number(reader, node);
        else if (!json_is_true(value) && !json_is_integer(value))
            COMPLAIN(reader, span_of(reader, node), "this must be true, a number or a string");
        node.place += reader->places[node.place].size;
    }
}

/* ---- target ---- */

enum { TARGET_NAME, TARGET_MEMBERS = 6 };

static void put_target(JsonReader *reader, Node object) {
    static const Member MEMBERS[TARGET_MEMBERS] = {
        {"name", IS_TEXT, true, false},           {"sb_bytes", IS_NUMBER, false, false},
        {"sb_reserved", IS_NUMBER, false, false}, {"sb_init", IS_NUMBER, false, false},
        {"dma_init", IS_NUMBER, false, false},    {"dma_rate", IS_NUMBER, false, false}};
    Node found[TARGET_MEMBERS];
    if (!object.value || !read_members(reader, object, MEMBERS, TARGET_MEMBERS, found)) return;
    if (!found[TARGET_NAME].value) return;
    put(reader, "target ");
    put_bare(reader, found[TARGET_NAME], "a target");
    put(reader, " {");
    for (int i = TARGET_NAME + 1; i < TARGET_MEMBERS; i++) {
        if (!found[i].value) continue;
        uint32_t opened = open_mark(reader, found[i]);
        put(reader, " ");
        put(reader, MEMBERS[i].name);
        put(reader, " = ");
        put_number(reader, found[i]);
        close_mark(reader, opened);
    }
    put(reader, " }\n");
}

/* ---- tensors ---- */

enum {
    TENSOR_NAME,
    TENSOR_SPACE,
    TENSOR_SHAPE,
    TENSOR_DTYPE,
    TENSOR_BLOCKS,
    TENSOR_PARTITIONS,
    TENSOR_BYTES,
    TENSOR_INPUT,
    TENSOR_OUTPUT,
    TENSOR_PIN,
    TENSOR_BASE,
    TENSOR_ALIGN,
    TENSOR_PLACEMENT,
    TENSOR_LIVE,
    TENSOR_COST,
    TENSOR_METADATA,
    TENSOR_MEMBERS
};

/* Two numbers of an object: `partition` and `byte`. */
static void put_place(JsonReader *reader, Node object) {
    static const Member MEMBERS[2] = {{"partition", IS_NUMBER, true, false},
                                      {"byte", IS_NUMBER, true, false}};
    Node found[2];
    if (!read_members(reader, object, MEMBERS, 2, found) || !found[0].value || !found[1].value)
        return;
    uint32_t opened = open_mark(reader, object);
    put_number(reader, found[0]);
    put(reader, ":");
    put_number(reader, found[1]);
    close_mark(reader, opened);
}

static void put_placement(JsonReader *reader, Node placement) {
    static const Member MEMBERS[1] = {{"offset", IS_NUMBER, true, false}};
    Node offset;
    uint32_t opened = open_mark(reader, placement);
    put(reader, " at ");
    if (json_is_object(placement.value)) {
        if (read_members(reader, placement, MEMBERS, 1, &offset) && offset.value)
            put_number(reader, offset);
    } else if (json_array_size(placement.value) > 0) {
        EACH(reader, placement, place, i) {
            if (i > 0) put(reader, ", ");
            put_place(reader, place);
        }
    } else {
        COMPLAIN(reader, span_of(reader, placement),
                 "this must be an object, null or an array that is not empty");
    }
    close_mark(reader, opened);
}

/* `: SPACE<BLOCKS*SHAPExDTYPE>`. Faults of the whole are told at the shape. */
static void put_type(JsonReader *reader, const Node *found) {
    uint32_t type = open_mark(reader, found[TENSOR_SHAPE]);
    put(reader, ": ");
    put_bare(reader, found[TENSOR_SPACE], "a space");
    put(reader, "<");
    uint32_t opened = open_mark(reader, found[TENSOR_SHAPE]);
    if (found[TENSOR_BLOCKS].value) {
        put_number(reader, found[TENSOR_BLOCKS]);
        put(reader, "*");
    }
    if (json_array_size(found[TENSOR_SHAPE].value) == 0)
        COMPLAIN(reader, span_of(reader, found[TENSOR_SHAPE]), "a shape has at least one number");
    EACH(reader, found[TENSOR_SHAPE], dimension, i) {
        if (check_kind(reader, dimension, IS_NUMBER)) put_number(reader, dimension);
        put(reader, "x");
    }
    close_mark(reader, opened);
    put_bare(reader, found[TENSOR_DTYPE], "a data type");
    put(reader, ">");
    close_mark(reader, type);
}

/* Flags that are false and numbers that are the default are as if they were not there. */
static void put_attributes(JsonReader *reader, const Node *found) {
    static const struct {
        int member;
        const char *text;
    } FLAGS[] = {{TENSOR_INPUT, " input"}, {TENSOR_OUTPUT, " output"}, {TENSOR_PIN, " pin"}};
    for (int i = 0; i < 3; i++) {
        Node flag = found[FLAGS[i].member];
        if (!json_is_true(flag.value)) continue;
        uint32_t opened = open_mark(reader, flag);
        put(reader, FLAGS[i].text);
        close_mark(reader, opened);
    }
    static const struct {
        int member;
        const char *text;
        json_int_t fallback;
    } NUMBERS[] = {{TENSOR_BASE, " base ", -1}, {TENSOR_ALIGN, " align ", 8}};
    for (int i = 0; i < 2; i++) {
        Node number = found[NUMBERS[i].member];
        if (!number.value || json_integer_value(number.value) == NUMBERS[i].fallback) continue;
        uint32_t opened = open_mark(reader, number);
        put(reader, NUMBERS[i].text);
        put_number(reader, number);
        close_mark(reader, opened);
    }
    if (found[TENSOR_PLACEMENT].value) put_placement(reader, found[TENSOR_PLACEMENT]);
}

static void put_tensor(JsonReader *reader, Node object) {
    static const Member MEMBERS[TENSOR_MEMBERS] = {
        [TENSOR_NAME] = {"name", IS_TEXT, true, false},
        [TENSOR_SPACE] = {"space", IS_TEXT, true, false},
        [TENSOR_SHAPE] = {"shape", IS_LIST, true, false},
        [TENSOR_DTYPE] = {"dtype", IS_TEXT, true, false},
        [TENSOR_BLOCKS] = {"blocks", IS_NUMBER, false, false},
        [TENSOR_PARTITIONS] = {"partitions", IS_DERIVED, false, false},
        [TENSOR_BYTES] = {"bytes_per_partition", IS_DERIVED, false, false},
        [TENSOR_INPUT] = {"input", IS_FLAG, false, false},
        [TENSOR_OUTPUT] = {"output", IS_FLAG, false, false},
        [TENSOR_PIN] = {"pin", IS_FLAG, false, false},
        [TENSOR_BASE] = {"base", IS_NUMBER, false, true},
        [TENSOR_ALIGN] = {"align", IS_NUMBER, false, false},
        [TENSOR_PLACEMENT] = {"placement", IS_PLACEMENT, false, true},
        [TENSOR_LIVE] = {"live", IS_DERIVED, false, false},
        [TENSOR_COST] = {"cost", IS_DERIVED, false, false},
        [TENSOR_METADATA] = {"metadata", IS_OBJECT, false, false},
    };
    Node found[TENSOR_MEMBERS];
    if (!read_members(reader, object, MEMBERS, TENSOR_MEMBERS, found)) return;
    for (int i = TENSOR_NAME; i <= TENSOR_DTYPE; i++)
        if (!found[i].value) return;
    uint32_t opened = open_mark(reader, object);
    put(reader, "tensor ");
    put_name(reader, "%", found[TENSOR_NAME]);
    put(reader, " ");
    put_type(reader, found);
    put_attributes(reader, found);
    put_metadata(reader, found[TENSOR_METADATA]);
    close_mark(reader, opened);
    put(reader, "\n");
}

/* ---- statements ---- */

static void put_region(JsonReader *reader, Node region) {
    static const char *const JOINTS[] = {"(", "..", ", ", ".."};
    if (json_array_size(region.value) != 4) {
        COMPLAIN(reader, span_of(reader, region), "a region has four numbers");
        return;
    }
    uint32_t opened = open_mark(reader, region);
    EACH(reader, region, number, i) {
        put(reader, JOINTS[i]);
        if (check_kind(reader, number, IS_NUMBER)) put_number(reader, number);
    }
    put(reader, ")");
    close_mark(reader, opened);
}

static void put_operand(JsonReader *reader, Node object) {
    enum { OPERAND_TENSOR, OPERAND_BLOCKS, OPERAND_REGION, OPERAND_MEMBERS };
    static const Member MEMBERS[OPERAND_MEMBERS] = {{"tensor", IS_TEXT, true, false},
                                                    {"blocks", IS_TEXT, false, true},
                                                    {"region", IS_LIST, false, true}};
    Node found[OPERAND_MEMBERS];
    if (!read_members(reader, object, MEMBERS, OPERAND_MEMBERS, found)) return;
    if (!found[OPERAND_TENSOR].value) return;
    uint32_t opened = open_mark(reader, object);
    put_name(reader, "%", found[OPERAND_TENSOR]);
    if (found[OPERAND_BLOCKS].value) {
        put(reader, "[");
        put_expression(reader, found[OPERAND_BLOCKS]);
        put(reader, "]");
    }
    if (found[OPERAND_REGION].value) put_region(reader, found[OPERAND_REGION]);
    close_mark(reader, opened);
}

static void put_operands(JsonReader *reader, Node list) {
    EACH(reader, list, operand, i) {
        put(reader, i > 0 ? ", " : " ");
        put_operand(reader, operand);
    }
}

enum {
    INST_OP,
    INST_ACCUMULATE,
    INST_DST,
    INST_SRC,
    INST_CONDITION,
    INST_METADATA,
    INST_POINT,
    INST_MEMBERS
};

static void put_inst(JsonReader *reader, Node object) {
    static const Member MEMBERS[INST_MEMBERS] = {
        [INST_OP] = {"op", IS_TEXT, true, false},
        [INST_ACCUMULATE] = {"accumulate", IS_FLAG, false, false},
        [INST_DST] = {"dst", IS_LIST, false, false},
        [INST_SRC] = {"src", IS_LIST, false, false},
        [INST_CONDITION] = {"condition", IS_TEXT, false, true},
        [INST_METADATA] = {"metadata", IS_OBJECT, false, false},
        [INST_POINT] = {"point", IS_DERIVED, false, false},
    };
    Node found[INST_MEMBERS];
    if (!read_members(reader, object, MEMBERS, INST_MEMBERS, found) || !found[INST_OP].value)
        return;
    const char *op = json_string_value(found[INST_OP].value);
    bool accumulate = json_is_true(found[INST_ACCUMULATE].value);
    size_t destinations = json_array_size(found[INST_DST].value);
    uint32_t opened = open_mark(reader, object);
    put_operands(reader, found[INST_DST]);
    if (accumulate && destinations != 1)
        COMPLAIN(reader, span_of(reader, found[INST_ACCUMULATE]),
                 "an accumulation has exactly one destination");
    if (destinations > 0) put(reader, accumulate ? " += " : " = ");
    if (destinations == 0 && (strcmp(op, "loop") == 0 || strcmp(op, "tensor") == 0))
        COMPLAIN(reader, span_of(reader, found[INST_OP]), "a statement cannot begin with '%s'", op);
    else
        put_bare(reader, found[INST_OP], "an opcode");
    put_operands(reader, found[INST_SRC]);
    if (found[INST_CONDITION].value) {
        put(reader, " if ");
        put_expression(reader, found[INST_CONDITION]);
    }
    put_metadata(reader, found[INST_METADATA]);
    close_mark(reader, opened);
    put(reader, "\n");
}

/* Writes the head of a loop and gives its body, or a missing node. */
static Node put_loop(JsonReader *reader, Node object) {
    enum { LOOP_NAME, LOOP_FROM, LOOP_TO, LOOP_BODY, LOOP_MEMBERS };
    static const Member MEMBERS[LOOP_MEMBERS] = {{"loop", IS_TEXT, true, false},
                                                 {"from", IS_NUMBER, true, false},
                                                 {"to", IS_NUMBER, true, false},
                                                 {"body", IS_LIST, true, false}};
    Node found[LOOP_MEMBERS];
    read_members(reader, object, MEMBERS, LOOP_MEMBERS, found);
    for (int i = 0; i < LOOP_MEMBERS; i++)
        if (!found[i].value) return (Node){0};
    uint32_t opened = open_mark(reader, object);
    put(reader, "loop ");
    put_bare(reader, found[LOOP_NAME], "a loop index");
    put(reader, " = ");
    put_number(reader, found[LOOP_FROM]);
    put(reader, "..");
    put_number(reader, found[LOOP_TO]);
    close_mark(reader, opened);
    put(reader, " {\n");
    return found[LOOP_BODY];
}

/* A list of statements that is being written. */
typedef struct {
    json_t *list;
    size_t next;    /* the element to write next */
    uint32_t place; /* and its place */
} Body;

static void put_body(JsonReader *reader, Node list) {
    Body stack[DEEPEST_JSON_NEST + 1];
    uint32_t depth = 1;
    stack[0] = (Body){list.value, 0, list.place + 1};
    while (depth > 0) {
        Body *body = &stack[depth - 1];
        Node node = {json_array_get(body->list, body->next), body->place};
        if (!node.value) {
            if (--depth > 0) put(reader, "}\n");
            continue;
        }
        body->next++;
        body->place += reader->places[node.place].size;
        if (!json_object_get(node.value, "loop")) {
            put_inst(reader, node);
        } else if (depth > DEEPEST_JSON_NEST) {
            COMPLAIN(reader, span_of(reader, node), "loops nested more than %d deep",
                     DEEPEST_JSON_NEST);
        } else {
            Node inner = put_loop(reader, node);
            if (inner.value) stack[depth++] = (Body){inner.value, 0, inner.place + 1};
        }
    }
}

/* ---- functions ---- */

enum { FUNC_NAME, FUNC_METADATA, FUNC_TENSORS, FUNC_BODY, FUNC_REPORT, FUNC_MEMBERS };

static void put_func(JsonReader *reader, Node object) {
    static const Member MEMBERS[FUNC_MEMBERS] = {
        [FUNC_NAME] = {"name", IS_TEXT, true, false},
        [FUNC_METADATA] = {"metadata", IS_OBJECT, false, false},
        [FUNC_TENSORS] = {"tensors", IS_LIST, false, false},
        [FUNC_BODY] = {"body", IS_LIST, false, false},
        [FUNC_REPORT] = {"report", IS_DERIVED, false, false},
    };
    Node found[FUNC_MEMBERS];
    if (!read_members(reader, object, MEMBERS, FUNC_MEMBERS, found)) return;
    put(reader, "func ");
    if (found[FUNC_NAME].value) put_name(reader, "@", found[FUNC_NAME]);
    put_metadata(reader, found[FUNC_METADATA]);
    put(reader, " {\n");
    EACH(reader, found[FUNC_TENSORS], tensor, i) {
        put_tensor(reader, tensor);
    }
    if (found[FUNC_BODY].value) put_body(reader, found[FUNC_BODY]);
    put(reader, "}\n");
}

static void put_module(JsonReader *reader, Node root) {
    enum { FORMAT, VERSION, TARGET, FUNCTIONS, ROOT_MEMBERS };
    static const Member MEMBERS[ROOT_MEMBERS] = {{"format", IS_TEXT, false, false},
                                                 {"version", IS_NUMBER, false, false},
                                                 {"target", IS_OBJECT, false, false},
                                                 {"functions", IS_LIST, false, false}};
    Node found[ROOT_MEMBERS];
    if (!read_members(reader, root, MEMBERS, ROOT_MEMBERS, found)) return;
    if (found[FORMAT].value && strcmp(json_string_value(found[FORMAT].value), "sballoc") != 0)
        COMPLAIN(reader, span_of(reader, found[FORMAT]), "the format must be 'sballoc'");
    if (found[VERSION].value && json_integer_value(found[VERSION].value) != 1)
        COMPLAIN(reader, span_of(reader, found[VERSION]), "only version 1 is known");
    put_target(reader, found[TARGET]);
    EACH(reader, found[FUNCTIONS], func, i) {
        put_func(reader, func);
    }
}

/* ---- places, carried back ---- */

/* The last mark that begins at or before `at`, NO_MARK if none. */
static uint32_t last_mark(const JsonReader *reader, uint32_t at) {
    size_t low = 0, high = reader->nmarks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reader->marks[middle].begin <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? (uint32_t)low - 1 : (uint32_t)NO_MARK;
}

/* The place of the smallest value from which all of `span` was written. What stands right behind an
 * expression is where a shorter one than expected is noticed: that is the expression's fault. */
static Span carry_back(const JsonReader *reader, Span span) {
    uint32_t i = last_mark(reader, span.begin);
    if (i != NO_MARK && reader->marks[i].expression && span.begin >= reader->marks[i].end &&
        span.begin - reader->marks[i].end <= 1)
        return reader->marks[i].span;
    while (i != NO_MARK && (reader->marks[i].end < span.end || reader->marks[i].end < span.begin))
        i = reader->marks[i].outer;
    if (i == NO_MARK) return (Span){0, 0};
    const Mark *mark = &reader->marks[i];
    if (!mark->letter_for_letter) return mark->span;
    return (Span){mark->span.begin + (span.begin - mark->begin),
                  mark->span.begin + (span.end - mark->begin)};
}

static void carry_back_func(const JsonReader *reader, Func *func) {
    func->span = carry_back(reader, func->span);
    for (uint32_t i = 0; i < func->ntensors; i++) {
        func->tensors[i].span = carry_back(reader, func->tensors[i].span);
        func->tensors[i].shape_span = carry_back(reader, func->tensors[i].shape_span);
    }
    for (uint32_t i = 0; i < func->nloops; i++)
        func->loops[i].span = carry_back(reader, func->loops[i].span);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        Inst *inst = &func->insts[i];
        inst->span = carry_back(reader, inst->span);
        /* The operands were made for this module and are still nobody's but the reader's. */
        Operand *operands = (Operand *)(uintptr_t)inst->operands;
        for (uint32_t k = 0; k < inst->ndst + inst->nsrc; k++)
            operands[k].span = carry_back(reader, operands[k].span);
    }
}

/* ---- the whole ---- */

/* The reader stops behind the token that it cannot take; before a byte that is no UTF-8. */
static void report_syntax_error(const Source *source, DiagQueue *diags, const json_error_t *error) {
    enum json_error_code code = json_error_code(error);
    uint32_t end = error->position > 0 ? (uint32_t)error->position : 0;
    if (code == json_error_invalid_utf8 && end < source->length) end++;
    Span span;
    bool twice = code == json_error_duplicate_key;
    Str path = json_find_fault(source, end, twice, &span, diags->arena);
    if (code == json_error_out_of_memory) out_of_memory();
    if (code == json_error_stack_overflow) {
        diag_error(diags, span, "nested too deep: loops may be nested %d deep", DEEPEST_JSON_NEST);
    } else {
        const char *what =
            code == json_error_null_character ? "a string must not hold a NUL" : error->text;
        const char *kind = what == error->text && !twice ? "not valid JSON: " : "";
        diag_error(diags, span, "%.*s%s%s%s", (int)path.length, path.text,
                   path.length > 0 ? ": " : "", kind, what);
    }
    diags->items[diags->count - 1].no_path = true;
}

/* Reads the text that was written, as if it stood where the JSON stands. */
static bool parse_written(JsonReader *reader, Arena *arena, Module *module) {
    Source text;
    DiagQueue found;
    diag_init(&found, arena);
    source_from_text(&text, arena, "", reader->out.buffer, reader->out.length);
    bool good = parse_lf(&text, arena, &found, module);
    for (size_t i = 0; i < found.count; i++)
        found.items[i].span = carry_back(reader, found.items[i].span);
    diag_append(reader->diags, &found);
    module->target_span = carry_back(reader, module->target_span);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        carry_back_func(reader, &module->funcs[i]);
    return good;
}

bool parse_json(const Source *source, Arena *arena, DiagQueue *diags, Module *module) {
    json_error_t error;
    Arena scratch;
    uint32_t before = diags->errors;
    json_t *root = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        report_syntax_error(source, diags, &error);
        return false;
    }
    arena_init(&scratch);
    JsonReader reader = {.source = source, .scratch = &scratch, .diags = diags, .mark = NO_MARK};
    writer_to_memory(&reader.out);
    reader.places = json_values(source, &scratch);
    put_module(&reader, (Node){root, 0});
    json_decref(root);
    bool good = diags->errors == before && parse_written(&reader, arena, module);
    writer_free(&reader.out);
    arena_free(&scratch);
    return good;
}
