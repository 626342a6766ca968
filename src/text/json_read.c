/* JSON is read by writing it as `.lf` and reading that, so that both have one parser and one set
 * of checks. What is checked here is only what makes it JSON of the right form; places are carried
 * back from the text that was written to the values it was written from. */
#include "text/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "text/json_text.h"
#include "text/parse.h"

bool source_is_json(const Source *source) {
    return source->length > 0 && source->text[0] == '{';
}

/* ---- target ---- */

enum { TARGET_NAME, TARGET_MEMBERS = 6 };

static void put_target(JsonReader *reader, JsonNode object) {
    static const JsonMember MEMBERS[TARGET_MEMBERS] = {
        {"name", IS_TEXT, true, false},           {"sb_bytes", IS_NUMBER, false, false},
        {"sb_reserved", IS_NUMBER, false, false}, {"sb_init", IS_NUMBER, false, false},
        {"dma_init", IS_NUMBER, false, false},    {"dma_rate", IS_NUMBER, false, false}};
    JsonNode found[TARGET_MEMBERS];
    if (!object.value || !json_read_members(reader, object, MEMBERS, TARGET_MEMBERS, found)) return;
    if (!found[TARGET_NAME].value) return;
    json_put(reader, "target ");
    json_put_bare(reader, found[TARGET_NAME], "a target");
    json_put(reader, " {");
    for (int i = TARGET_NAME + 1; i < TARGET_MEMBERS; i++) {
        if (!found[i].value) continue;
        uint32_t opened = json_open_mark(reader, found[i]);
        json_put(reader, " ");
        json_put(reader, MEMBERS[i].name);
        json_put(reader, " = ");
        json_put_number(reader, found[i]);
        json_close_mark(reader, opened);
    }
    json_put(reader, " }\n");
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
static void put_place(JsonReader *reader, JsonNode object) {
    static const JsonMember MEMBERS[2] = {{"partition", IS_NUMBER, true, false},
                                          {"byte", IS_NUMBER, true, false}};
    JsonNode found[2];
    if (!json_read_members(reader, object, MEMBERS, 2, found) || !found[0].value || !found[1].value)
        return;
    uint32_t opened = json_open_mark(reader, object);
    json_put_number(reader, found[0]);
    json_put(reader, ":");
    json_put_number(reader, found[1]);
    json_close_mark(reader, opened);
}

static void put_placement(JsonReader *reader, JsonNode placement) {
    static const JsonMember MEMBERS[1] = {{"offset", IS_NUMBER, true, false}};
    JsonNode offset;
    uint32_t opened = json_open_mark(reader, placement);
    json_put(reader, " at ");
    if (json_is_object(placement.value)) {
        if (json_read_members(reader, placement, MEMBERS, 1, &offset) && offset.value)
            json_put_number(reader, offset);
    } else if (json_array_size(placement.value) > 0) {
        JSON_EACH(reader, placement, place, i) {
            if (i > 0) json_put(reader, ", ");
            put_place(reader, place);
        }
    } else {
        JSON_COMPLAIN(reader, json_span_of(reader, placement),
                      "this must be an object, null or an array that is not empty");
    }
    json_close_mark(reader, opened);
}

/* `: SPACE<BLOCKS*SHAPExDTYPE>`. Faults of the whole are told at the shape. */
static void put_type(JsonReader *reader, const JsonNode *found) {
    uint32_t type = json_open_mark(reader, found[TENSOR_SHAPE]);
    json_put(reader, ": ");
    json_put_bare(reader, found[TENSOR_SPACE], "a space");
    json_put(reader, "<");
    uint32_t opened = json_open_mark(reader, found[TENSOR_SHAPE]);
    if (found[TENSOR_BLOCKS].value) {
        json_put_number(reader, found[TENSOR_BLOCKS]);
        json_put(reader, "*");
    }
    if (json_array_size(found[TENSOR_SHAPE].value) == 0)
        JSON_COMPLAIN(reader, json_span_of(reader, found[TENSOR_SHAPE]),
                      "a shape has at least one number");
    JSON_EACH(reader, found[TENSOR_SHAPE], dimension, i) {
        if (json_check_kind(reader, dimension, IS_NUMBER)) json_put_number(reader, dimension);
        json_put(reader, "x");
    }
    json_close_mark(reader, opened);
    json_put_bare(reader, found[TENSOR_DTYPE], "a data type");
    json_put(reader, ">");
    json_close_mark(reader, type);
}

/* Flags that are false and numbers that are the default are as if they were not there. */
static void put_attributes(JsonReader *reader, const JsonNode *found) {
    static const struct {
        int member;
        const char *text;
    } FLAGS[] = {{TENSOR_INPUT, " input"}, {TENSOR_OUTPUT, " output"}, {TENSOR_PIN, " pin"}};
    for (int i = 0; i < 3; i++) {
        JsonNode flag = found[FLAGS[i].member];
        if (!json_is_true(flag.value)) continue;
        uint32_t opened = json_open_mark(reader, flag);
        json_put(reader, FLAGS[i].text);
        json_close_mark(reader, opened);
    }
    static const struct {
        int member;
        const char *text;
        json_int_t fallback;
    } NUMBERS[] = {{TENSOR_BASE, " base ", -1}, {TENSOR_ALIGN, " align ", 8}};
    for (int i = 0; i < 2; i++) {
        JsonNode number = found[NUMBERS[i].member];
        if (!number.value || json_integer_value(number.value) == NUMBERS[i].fallback) continue;
        uint32_t opened = json_open_mark(reader, number);
        json_put(reader, NUMBERS[i].text);
        json_put_number(reader, number);
        json_close_mark(reader, opened);
    }
    if (found[TENSOR_PLACEMENT].value) put_placement(reader, found[TENSOR_PLACEMENT]);
}

static void put_tensor(JsonReader *reader, JsonNode object) {
    static const JsonMember MEMBERS[TENSOR_MEMBERS] = {
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
    JsonNode found[TENSOR_MEMBERS];
    if (!json_read_members(reader, object, MEMBERS, TENSOR_MEMBERS, found)) return;
    for (int i = TENSOR_NAME; i <= TENSOR_DTYPE; i++)
        if (!found[i].value) return;
    uint32_t opened = json_open_mark(reader, object);
    json_put(reader, "tensor ");
    json_put_name(reader, "%", found[TENSOR_NAME]);
    json_put(reader, " ");
    put_type(reader, found);
    put_attributes(reader, found);
    json_put_metadata(reader, found[TENSOR_METADATA]);
    json_close_mark(reader, opened);
    json_put(reader, "\n");
}

/* ---- statements ---- */

static void put_region(JsonReader *reader, JsonNode region) {
    static const char *const JOINTS[] = {"(", "..", ", ", ".."};
    if (json_array_size(region.value) != 4) {
        JSON_COMPLAIN(reader, json_span_of(reader, region), "a region has four numbers");
        return;
    }
    uint32_t opened = json_open_mark(reader, region);
    JSON_EACH(reader, region, number, i) {
        json_put(reader, JOINTS[i]);
        if (json_check_kind(reader, number, IS_NUMBER)) json_put_number(reader, number);
    }
    json_put(reader, ")");
    json_close_mark(reader, opened);
}

static void put_operand(JsonReader *reader, JsonNode object) {
    enum { OPERAND_TENSOR, OPERAND_BLOCKS, OPERAND_REGION, OPERAND_MEMBERS };
    static const JsonMember MEMBERS[OPERAND_MEMBERS] = {{"tensor", IS_TEXT, true, false},
                                                        {"blocks", IS_TEXT, false, true},
                                                        {"region", IS_LIST, false, true}};
    JsonNode found[OPERAND_MEMBERS];
    if (!json_read_members(reader, object, MEMBERS, OPERAND_MEMBERS, found)) return;
    if (!found[OPERAND_TENSOR].value) return;
    uint32_t opened = json_open_mark(reader, object);
    json_put_name(reader, "%", found[OPERAND_TENSOR]);
    if (found[OPERAND_BLOCKS].value) {
        json_put(reader, "[");
        json_put_expression(reader, found[OPERAND_BLOCKS]);
        json_put(reader, "]");
    }
    if (found[OPERAND_REGION].value) put_region(reader, found[OPERAND_REGION]);
    json_close_mark(reader, opened);
}

static void put_operands(JsonReader *reader, JsonNode list) {
    JSON_EACH(reader, list, operand, i) {
        json_put(reader, i > 0 ? ", " : " ");
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

static void put_inst(JsonReader *reader, JsonNode object) {
    static const JsonMember MEMBERS[INST_MEMBERS] = {
        [INST_OP] = {"op", IS_TEXT, true, false},
        [INST_ACCUMULATE] = {"accumulate", IS_FLAG, false, false},
        [INST_DST] = {"dst", IS_LIST, false, false},
        [INST_SRC] = {"src", IS_LIST, false, false},
        [INST_CONDITION] = {"condition", IS_TEXT, false, true},
        [INST_METADATA] = {"metadata", IS_OBJECT, false, false},
        [INST_POINT] = {"point", IS_DERIVED, false, false},
    };
    JsonNode found[INST_MEMBERS];
    if (!json_read_members(reader, object, MEMBERS, INST_MEMBERS, found) || !found[INST_OP].value)
        return;
    const char *op = json_string_value(found[INST_OP].value);
    bool accumulate = json_is_true(found[INST_ACCUMULATE].value);
    size_t destinations = json_array_size(found[INST_DST].value);
    uint32_t opened = json_open_mark(reader, object);
    put_operands(reader, found[INST_DST]);
    if (accumulate && destinations != 1)
        JSON_COMPLAIN(reader, json_span_of(reader, found[INST_ACCUMULATE]),
                      "an accumulation has exactly one destination");
    if (destinations > 0) json_put(reader, accumulate ? " += " : " = ");
    if (destinations == 0 && (strcmp(op, "loop") == 0 || strcmp(op, "tensor") == 0))
        JSON_COMPLAIN(reader, json_span_of(reader, found[INST_OP]),
                      "a statement cannot begin with '%s'", op);
    else
        json_put_bare(reader, found[INST_OP], "an opcode");
    put_operands(reader, found[INST_SRC]);
    if (found[INST_CONDITION].value) {
        json_put(reader, " if ");
        json_put_expression(reader, found[INST_CONDITION]);
    }
    json_put_metadata(reader, found[INST_METADATA]);
    json_close_mark(reader, opened);
    json_put(reader, "\n");
}

/* Writes the head of a loop and gives its body, or a missing node. */
static JsonNode put_loop(JsonReader *reader, JsonNode object) {
    enum { LOOP_NAME, LOOP_FROM, LOOP_TO, LOOP_BODY, LOOP_MEMBERS };
    static const JsonMember MEMBERS[LOOP_MEMBERS] = {{"loop", IS_TEXT, true, false},
                                                     {"from", IS_NUMBER, true, false},
                                                     {"to", IS_NUMBER, true, false},
                                                     {"body", IS_LIST, true, false}};
    JsonNode found[LOOP_MEMBERS];
    json_read_members(reader, object, MEMBERS, LOOP_MEMBERS, found);
    for (int i = 0; i < LOOP_MEMBERS; i++)
        if (!found[i].value) return (JsonNode){0};
    uint32_t opened = json_open_mark(reader, object);
    json_put(reader, "loop ");
    json_put_bare(reader, found[LOOP_NAME], "a loop index");
    json_put(reader, " = ");
    json_put_number(reader, found[LOOP_FROM]);
    json_put(reader, "..");
    json_put_number(reader, found[LOOP_TO]);
    json_close_mark(reader, opened);
    json_put(reader, " {\n");
    return found[LOOP_BODY];
}

/* A list of statements that is being written. */
typedef struct {
    json_t *list;
    size_t next;    /* the element to write next */
    uint32_t place; /* and its place */
} Body;

static void put_body(JsonReader *reader, JsonNode list) {
    Body stack[DEEPEST_JSON_NEST + 1];
    uint32_t depth = 1;
    stack[0] = (Body){list.value, 0, list.place + 1};
    while (depth > 0) {
        Body *body = &stack[depth - 1];
        JsonNode node = {json_array_get(body->list, body->next), body->place};
        if (!node.value) {
            if (--depth > 0) json_put(reader, "}\n");
            continue;
        }
        body->next++;
        body->place += reader->places[node.place].size;
        if (!json_object_get(node.value, "loop")) {
            put_inst(reader, node);
        } else if (depth > DEEPEST_JSON_NEST) {
            JSON_COMPLAIN(reader, json_span_of(reader, node), "loops nested more than %d deep",
                          DEEPEST_JSON_NEST);
        } else {
            JsonNode inner = put_loop(reader, node);
            if (inner.value) stack[depth++] = (Body){inner.value, 0, inner.place + 1};
        }
    }
}

/* ---- functions ---- */

enum { FUNC_NAME, FUNC_METADATA, FUNC_TENSORS, FUNC_BODY, FUNC_REPORT, FUNC_MEMBERS };

static void put_func(JsonReader *reader, JsonNode object) {
    static const JsonMember MEMBERS[FUNC_MEMBERS] = {
        [FUNC_NAME] = {"name", IS_TEXT, true, false},
        [FUNC_METADATA] = {"metadata", IS_OBJECT, false, false},
        [FUNC_TENSORS] = {"tensors", IS_LIST, false, false},
        [FUNC_BODY] = {"body", IS_LIST, false, false},
        [FUNC_REPORT] = {"report", IS_DERIVED, false, false},
    };
    JsonNode found[FUNC_MEMBERS];
    if (!json_read_members(reader, object, MEMBERS, FUNC_MEMBERS, found)) return;
    json_put(reader, "func ");
    if (found[FUNC_NAME].value) json_put_name(reader, "@", found[FUNC_NAME]);
    json_put_metadata(reader, found[FUNC_METADATA]);
    json_put(reader, " {\n");
    JSON_EACH(reader, found[FUNC_TENSORS], tensor, i) {
        put_tensor(reader, tensor);
    }
    if (found[FUNC_BODY].value) put_body(reader, found[FUNC_BODY]);
    json_put(reader, "}\n");
}

static void put_module(JsonReader *reader, JsonNode root) {
    enum { FORMAT, VERSION, TARGET, FUNCTIONS, ROOT_MEMBERS };
    static const JsonMember MEMBERS[ROOT_MEMBERS] = {{"format", IS_TEXT, false, false},
                                                     {"version", IS_NUMBER, false, false},
                                                     {"target", IS_OBJECT, false, false},
                                                     {"functions", IS_LIST, false, false}};
    JsonNode found[ROOT_MEMBERS];
    if (!json_read_members(reader, root, MEMBERS, ROOT_MEMBERS, found)) return;
    if (found[FORMAT].value && strcmp(json_string_value(found[FORMAT].value), "sballoc") != 0)
        JSON_COMPLAIN(reader, json_span_of(reader, found[FORMAT]), "the format must be 'sballoc'");
    if (found[VERSION].value && json_integer_value(found[VERSION].value) != 1)
        JSON_COMPLAIN(reader, json_span_of(reader, found[VERSION]), "only version 1 is known");
    put_target(reader, found[TARGET]);
    JSON_EACH(reader, found[FUNCTIONS], func, i) {
        put_func(reader, func);
    }
}

/* ---- places, carried back ---- */

static void carry_back_func(const JsonReader *reader, Func *func) {
    func->span = json_carry_back(reader, func->span);
    for (uint32_t i = 0; i < func->ntensors; i++) {
        func->tensors[i].span = json_carry_back(reader, func->tensors[i].span);
        func->tensors[i].shape_span = json_carry_back(reader, func->tensors[i].shape_span);
    }
    for (uint32_t i = 0; i < func->nloops; i++)
        func->loops[i].span = json_carry_back(reader, func->loops[i].span);
    for (uint32_t i = 0; i < func->ninsts; i++) {
        Inst *inst = &func->insts[i];
        inst->span = json_carry_back(reader, inst->span);
        /* The operands were made for this module and are still nobody's but the reader's. */
        Operand *operands = (Operand *)(uintptr_t)inst->operands;
        for (uint32_t k = 0; k < inst->ndst + inst->nsrc; k++) {
            operands[k].span = json_carry_back(reader, operands[k].span);
            Blocks *blocks = (Blocks *)(uintptr_t)operands[k].blocks;
            if (blocks) blocks->span = json_carry_back(reader, blocks->span);
        }
    }
}

/* ---- the whole ---- */

/* The reader stops behind the token that it cannot take; before a byte that is no UTF-8. */
static void report_syntax_error(const Source *source, DiagQueue *diags, const json_error_t *error) {
    enum json_error_code code = json_error_code(error);
    uint32_t end = error->position > 0 ? (uint32_t)error->position : 0;
    if (code == json_error_invalid_utf8 && end < source->length) end++;
    Span span;
    Str path = json_find_fault(source, end, code == json_error_duplicate_key, &span, diags->arena);
    const char *what = error->text;
    if (code == json_error_null_character) what = "a string must not hold a NUL";
    if (span.begin < source->length && source->text[span.begin] == '\0') what = "a NUL byte";
    bool plain = what != error->text || code == json_error_duplicate_key;
    if (code == json_error_stack_overflow)
        diag_error(diags, span, "JSON is nested too deep (loops may be nested %d deep)",
                   DEEPEST_JSON_NEST);
    else
        diag_error(diags, span, "%.*s%s%s%s", (int)path.length, path.text,
                   path.length > 0 ? ": " : "", plain ? "" : "not valid JSON: ", what);
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
        found.items[i].span = json_carry_back(reader, found.items[i].span);
    diag_append(reader->diags, &found);
    module->target_span = json_carry_back(reader, module->target_span);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        carry_back_func(reader, &module->funcs[i]);
    return good;
}

bool parse_json(const Source *source, Arena *arena, DiagQueue *diags, Module *module) {
    json_error_t error;
    Arena scratch;
    uint32_t before = diags->errors;
    /* Without memory jansson says now this, now that, and blames the text. */
    json_set_alloc_funcs(heap_alloc, free);
    json_t *root = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        report_syntax_error(source, diags, &error);
        return false;
    }
    arena_init(&scratch);
    JsonReader reader = {
        .source = source, .scratch = &scratch, .diags = diags, .mark = NO_JSON_MARK};
    writer_to_memory(&reader.out);
    reader.places = json_values(source, &scratch);
    put_module(&reader, (JsonNode){root, 0});
    json_decref(root);
    bool good = diags->errors == before && parse_written(&reader, arena, module);
    writer_free(&reader.out);
    arena_free(&scratch);
    return good;
}
