/* Tensor declarations: shapes, attributes, and what they allow together. */
#include <string.h>

#include "ir/geometry.h"
#include "text/reader.h"
#include "text/word.h"

/* A cursor over a shape. */
typedef struct {
    Reader *reader;
    Str text;
    uint32_t at;     /* next byte of text */
    uint32_t offset; /* of the text in the source */
    size_t ndims;    /* read so far, into the reader's `dims` */
} ShapeReader;

static Span shape_part(const ShapeReader *shape, uint32_t begin, uint32_t end) {
    return (Span){shape->offset + begin, shape->offset + end};
}

static bool at_digit(const ShapeReader *shape) {
    return shape->at < shape->text.length && shape->text.text[shape->at] >= '0' &&
           shape->text.text[shape->at] <= '9';
}

static bool at_char(const ShapeReader *shape, char c) {
    return shape->at < shape->text.length && shape->text.text[shape->at] == c;
}

static bool bad_shape(const ShapeReader *shape) {
    uint32_t end = shape->at < shape->text.length ? shape->at + 1 : shape->at;
    diag_error(shape->reader->diags, shape_part(shape, shape->at, end),
               "a shape is [BLOCKS*]PARTITIONSxDIM...xDTYPE, numbers decimal, without spaces");
    return false;
}

/* A number of at least 1. */
static bool shape_number(ShapeReader *shape, int64_t *value) {
    if (!at_digit(shape)) return bad_shape(shape);
    uint32_t begin = shape->at;
    bool overflow = false;
    for (*value = 0; at_digit(shape); shape->at++)
        overflow |= __builtin_mul_overflow(*value, 10, value) ||
                    __builtin_add_overflow(*value, shape->text.text[shape->at] - '0', value);
    Span span = shape_part(shape, begin, shape->at);
    if (overflow)
        diag_error(shape->reader->diags, span, "this number is larger than 9223372036854775807");
    else if (*value == 0)
        diag_error(shape->reader->diags, span, "a dimension or block count is at least 1");
    return !overflow && *value > 0;
}

static bool shape_dtype(ShapeReader *shape, Dtype *dtype) {
    Str name = {shape->text.text + shape->at, shape->text.length - shape->at};
    int found = dtype_from_name(name);
    *dtype = found < 0 ? DT_U8 : (Dtype)found;
    if (found >= 0) return true;
    if (!is_word(name)) return bad_shape(shape);
    Str names[DTYPE_COUNT];
    for (int i = 0; i < DTYPE_COUNT; i++)
        names[i] = dtype_name((Dtype)i);
    Str hint = word_hint(shape->reader, WORD_DTYPE, name, names, DTYPE_COUNT);
    diag_error(shape->reader->diags, shape_part(shape, shape->at, shape->text.length),
               "unknown data type '%.*s'%.*s", STR_ARGS(name), STR_ARGS(hint));
    return false;
}

/* Fills blocks, dims and dtype; false after an error. */
static bool read_shape(ShapeReader *shape, Tensor *tensor) {
    Reader *reader = shape->reader;
    int64_t number;
    if (!shape_number(shape, &number)) return false;
    if (at_char(shape, '*')) {
        tensor->blocks = number;
        shape->at++;
        if (!shape_number(shape, &number)) return false;
    }
    for (;;) {
        PUSH(&reader->scratch, reader->dims, shape->ndims, reader->dim_capacity, number);
        if (!at_char(shape, 'x')) return bad_shape(shape);
        shape->at++;
        if (!at_digit(shape)) break;
        if (!shape_number(shape, &number)) return false;
    }
    return shape_dtype(shape, &tensor->dtype);
}

/* Bytes a block and in all; sizes that sb allows. */
static bool measure(Reader *reader, Tensor *tensor) {
    int64_t total;
    tensor->partitions = tensor->shape[0];
    tensor->bytes = dtype_bytes(tensor->dtype);
    bool overflow = false;
    for (uint32_t i = 1; i < tensor->rank; i++)
        overflow |= __builtin_mul_overflow(tensor->bytes, tensor->shape[i], &tensor->bytes);
    overflow |= __builtin_mul_overflow(tensor->bytes, tensor->partitions, &total);
    overflow |= __builtin_mul_overflow(total, tensor->blocks, &total);
    if (tensor->space == SPACE_SB && tensor->partitions > PARTITIONS)
        diag_error(reader->diags, tensor->shape_span,
                   "%lld partitions; an sb tensor has at most %d", (long long)tensor->partitions,
                   PARTITIONS);
    else if (tensor->space == SPACE_SB && tensor->blocks > MOST_BLOCKS)
        diag_error(reader->diags, tensor->shape_span, "%lld blocks; an sb tensor has at most %d",
                   (long long)tensor->blocks, MOST_BLOCKS);
    else if (overflow)
        diag_error(reader->diags, tensor->shape_span,
                   "a tensor of this shape is larger than 9223372036854775807 bytes");
    else
        return true;
    return false;
}

/* A shape that does no harm, for a tensor whose own could not be read. */
static void make_vague(Reader *reader, Tensor *tensor) {
    static const int64_t ONE = 1;
    tensor->blocks = 1;
    tensor->shape = &ONE;
    tensor->rank = 1;
    tensor->partitions = tensor->bytes = 1;
    reader->tensor_vague = true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool read_space(Reader *reader, Str name, Span span, Space *space) {
    static const Str SPACES[] = {{"sb", 2}, {"dram", 4}, {"psum", 4}};
    int found = space_from_name(name);
    *space = found < 0 ? SPACE_PSUM : (Space)found;
    if (found >= 0) return true;
    Str hint = word_hint(reader, WORD_SPACE, name, SPACES, 3);
    diag_error(reader->diags, span, "'%.*s' is no space; a tensor is in sb, dram or psum%.*s",
               STR_ARGS(name), STR_ARGS(hint));
    return false;
}

/* Reads `: SPACE<SHAPE>` into reader->tensor. */
static bool read_type(Reader *reader, Str type, Span span) {
    Tensor *tensor = &reader->tensor;
    uint32_t begin = 1;
    while (is_blank(type.text[begin]))
        begin++;
    uint32_t open = (uint32_t)((const char *)memchr(type.text, '<', type.length) - type.text);
    uint32_t end = open;
    while (is_blank(type.text[end - 1]))
        end--;
    bool known = read_space(reader, (Str){type.text + begin, end - begin},
                            (Span){span.begin + begin, span.begin + end}, &tensor->space);
    uint32_t close = type.length;
    bool closed = type.text[close - 1] == '>';
    close -= closed;
    for (open++; open < close && is_blank(type.text[open]);)
        open++;
    while (close > open && is_blank(type.text[close - 1]))
        close--;
    tensor->shape_span = (Span){span.begin + open, span.begin + close};
    if (!closed) {
        lexical_error(reader, tensor->shape_span, "the shape does not end in '>'");
        return false;
    }
    ShapeReader shape = {.reader = reader,
                         .text = {type.text + open, close - open},
                         .offset = tensor->shape_span.begin};
    if (!read_shape(&shape, tensor)) return false;
    int64_t *dims = RAW_ARRAY(reader->arena, int64_t, shape.ndims);
    memcpy(dims, reader->dims, shape.ndims * sizeof *dims);
    tensor->shape = dims;
    tensor->rank = (uint32_t)shape.ndims;
    return measure(reader, tensor) && known;
}

static void start(Reader *reader, Str name, Span name_span) {
    reader->tensor = (Tensor){
        .name = name, .blocks = 1, .align = GRANULE, .base = -1, .offset = -1, .span = name_span};
    reader->tensor_vague = false;
    reader->attributes = 0;
    reader->attribute_fault = false;
}

void begin_tensor(Reader *reader, Str name, Span name_span, Str type, Span type_span) {
    start(reader, name, name_span);
    if (reader->has_statement)
        COMPLAIN(reader, name_span, "declarations must stand before the statements");
    if (!read_type(reader, type, type_span)) make_vague(reader, &reader->tensor);
}

void begin_vague_tensor(Reader *reader, Str name, Span name_span) {
    start(reader, name, name_span);
    reader->tensor.space = SPACE_PSUM;
    make_vague(reader, &reader->tensor);
}

void add_value(Reader *reader, int64_t first, Span span) {
    AttributeValue value = {first, 0, false, span};
    PUSH(&reader->scratch, reader->values, reader->nvalues, reader->value_capacity, value);
}

void add_pair(Reader *reader, int64_t first, int64_t second, Span span) {
    AttributeValue value = {first, second, true, span};
    PUSH(&reader->scratch, reader->values, reader->nvalues, reader->value_capacity, value);
}

typedef enum { INPUT, OUTPUT, PIN, BASE, ALIGN, AT, ATTRIBUTE_COUNT } Attribute;
static const Str ATTRIBUTES[ATTRIBUTE_COUNT] = {
    {"input", 5}, {"output", 6}, {"pin", 3}, {"base", 4}, {"align", 5}, {"at", 2},
};

static Str legal_starts(int64_t partitions) {
    if (partitions <= QUADRANT_PARTITIONS) return STR("0, 32, 64 or 96");
    return partitions <= 2 * QUADRANT_PARTITIONS ? STR("0 or 64") : STR("0");
}

static bool check_start(Reader *reader, int64_t start_at, Span span) {
    int64_t partitions = reader->tensor.partitions;
    if (start_is_legal(start_at, partitions)) return true;
    COMPLAIN(reader, span, "%lld partition%s cannot start at partition %lld, only at %.*s",
             (long long)partitions, partitions == 1 ? "" : "s", (long long)start_at,
             STR_ARGS(legal_starts(partitions)));
    return false;
}

static void set_base(Reader *reader, AttributeValue value) {
    if (check_start(reader, value.first, value.span)) reader->tensor.base = (int32_t)value.first;
}

static void set_align(Reader *reader, AttributeValue value) {
    if (value.first < GRANULE || (value.first & (value.first - 1)) != 0)
        COMPLAIN(reader, value.span, "an alignment is a power of two of at least 8");
    else
        reader->tensor.align = value.first;
}

static void set_offset(Reader *reader, AttributeValue value) {
    Tensor *tensor = &reader->tensor;
    int64_t end = tensor->bytes * tensor->partitions * tensor->blocks;
    if (__builtin_add_overflow(end, value.first, &end))
        COMPLAIN(reader, value.span, "the tensor would end past byte 9223372036854775807");
    else
        tensor->offset = value.first;
    tensor->fixed = true;
}

/* One pair for each block. */
static void read_places(Reader *reader, Span name_span) {
    Tensor *tensor = &reader->tensor;
    if ((int64_t)reader->nvalues != tensor->blocks) {
        COMPLAIN(reader, name_span, "'at' has %zu pair%s for %lld block%s", reader->nvalues,
                 reader->nvalues == 1 ? "" : "s", (long long)tensor->blocks,
                 tensor->blocks == 1 ? "" : "s");
        return;
    }
    Place *places = RAW_ARRAY(reader->arena, Place, reader->nvalues);
    for (size_t i = 0; i < reader->nvalues; i++) {
        AttributeValue value = reader->values[i];
        if (!check_start(reader, value.first, value.span)) value.first = 0;
        places[i] = (Place){(int32_t)value.first, value.second};
    }
    tensor->at = places;
    tensor->fixed = true;
    reader->at_span = name_span;
}

/* Whether the values after an attribute have the form that it asks for. */
static bool check_form(Reader *reader, Attribute attribute, Span name_span) {
    bool pairs = attribute == AT && reader->tensor.space == SPACE_SB;
    bool one = attribute == BASE || attribute == ALIGN || (attribute == AT && !pairs);
    const char *wants = pairs ? "takes pairs PARTITION:BYTE" : one ? "takes one number" : NULL;
    if (reader->nvalues == 0) {
        if (!wants) return true;
        COMPLAIN(reader, name_span, "'%.*s' %s", STR_ARGS(ATTRIBUTES[attribute]), wants);
        return false;
    }
    for (size_t i = 0; i < reader->nvalues; i++) {
        AttributeValue value = reader->values[i];
        if (wants && value.pair == pairs && (pairs || i == 0)) continue;
        COMPLAIN(reader, value.span, "'%.*s' %s", STR_ARGS(ATTRIBUTES[attribute]),
                 wants ? wants : "takes no value");
        return false;
    }
    return true;
}

/* Whether the tensor's space allows the attribute. */
static bool check_space(Reader *reader, Attribute attribute, Span name_span) {
    Space space = reader->tensor.space;
    bool sb_only = attribute == PIN || attribute == BASE;
    if (attribute <= OUTPUT || space == SPACE_SB || (space == SPACE_DRAM && !sb_only)) return true;
    COMPLAIN(reader, name_span, "'%.*s' is not for %.*s tensors", STR_ARGS(ATTRIBUTES[attribute]),
             STR_ARGS(space_name(space)));
    return false;
}

static void apply(Reader *reader, Attribute attribute, Span name_span) {
    switch (attribute) {
    case INPUT:
        reader->tensor.input = true;
        break;
    case OUTPUT:
        reader->tensor.output = true;
        break;
    case PIN:
        reader->tensor.pin = true;
        break;
    case BASE:
        set_base(reader, reader->values[0]);
        break;
    case ALIGN:
        set_align(reader, reader->values[0]);
        break;
    case AT:
        if (reader->tensor.space == SPACE_SB)
            read_places(reader, name_span);
        else
            set_offset(reader, reader->values[0]);
        break;
    case ATTRIBUTE_COUNT:
        break;
    }
}

void add_attribute(Reader *reader, Str name, Span name_span) {
    uint32_t errors = reader->diags->errors;
    int found = 0;
    while (found < ATTRIBUTE_COUNT && !str_equal(name, ATTRIBUTES[found]))
        found++;
    if (found == ATTRIBUTE_COUNT) {
        Str hint = word_hint(reader, WORD_ATTRIBUTE, name, ATTRIBUTES, ATTRIBUTE_COUNT);
        COMPLAIN(reader, name_span, "unknown attribute '%.*s'%.*s", STR_ARGS(name), STR_ARGS(hint));
    } else if (reader->attributes & 1u << found) {
        COMPLAIN(reader, name_span, "'%.*s' is given twice", STR_ARGS(name));
    } else if (!reader->tensor_vague && check_space(reader, (Attribute)found, name_span) &&
               check_form(reader, (Attribute)found, name_span)) {
        apply(reader, (Attribute)found, name_span);
    }
    reader->attributes |= found < ATTRIBUTE_COUNT ? 1u << found : 0;
    reader->attribute_fault |= reader->diags->errors > errors;
    reader->nvalues = 0;
}

static void check_base_agrees(Reader *reader) {
    const Tensor *tensor = &reader->tensor;
    if (tensor->base < 0 || !tensor->at) return;
    for (int64_t i = 0; i < tensor->blocks; i++) {
        if (tensor->at[i].partition == tensor->base) continue;
        COMPLAIN(reader, reader->at_span, "'at' and 'base' disagree: partition %d and %d",
                 tensor->at[i].partition, tensor->base);
        return;
    }
}

void end_tensor(Reader *reader) {
    Tensor *tensor = &reader->tensor;
    check_base_agrees(reader);
    tensor->meta = take_metas(reader);
    Func *func = &reader->builder.func;
    uint32_t first = names_get(&reader->tensors, func->tensors, tensor->name);
    if (first != UINT32_MAX) {
        /* Nothing of it could be read, or it was told of as undeclared. */
        if (tensor->shape_span.end == 0 || func->tensors[first].span.end == 0) return;
        COMPLAIN(reader, tensor->span, "tensor %.*s is declared twice",
                 STR_ARGS(label_text(&reader->scratch, '%', tensor->name)));
        diag_note(reader->diags, func->tensors[first].span, true, "the first declaration is here");
        return;
    }
    int64_t before = reader->sb_blocks;
    if (tensor->space == SPACE_SB) reader->sb_blocks += tensor->blocks;
    if (reader->sb_blocks > MOST_BLOCKS && before <= MOST_BLOCKS)
        COMPLAIN(reader, tensor->shape_span,
                 "with this one the sb tensors of the function have %lld blocks; at most %d",
                 (long long)reader->sb_blocks, MOST_BLOCKS);
    declare_tensor(reader, *tensor, reader->tensor_vague || reader->attribute_fault);
}
