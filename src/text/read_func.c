/* Functions, loops and instructions: names resolved, statements handed to the builder. */
#include <string.h>

#include "text/reader.h"
#include "text/word.h"

enum { MOST_TERMS = 8192, FEW_METAS = 16 };

/* Counts the lines of tensors and others up to a `}` at a line's start or the end of the file, to
 * have room for them at once. A guess: no byte is looked at twice, and nothing depends on it. */
static void reserve(Reader *reader, uint32_t begin) {
    if (begin < reader->counted) return;
    const char *at = reader->source->text + begin, *end = at + (reader->source->length - begin);
    uint32_t tensors = 0, others = 0;
    while (at && at < end && *at != '}') {
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        bool tensor = end - at > 6 && memcmp(at, "tensor", 6) == 0;
        tensors += tensor;
        others += !tensor;
        at = memchr(at, '\n', (size_t)(end - at));
        if (at) at++;
    }
    reader->counted = at ? (uint32_t)(at - reader->source->text) : reader->source->length;
    build_reserve(&reader->builder, tensors, others);
}

void begin_func(Reader *reader, Str name, Span name_span, bool has_name) {
    build_begin(&reader->builder, reader->arena, name, take_metas(reader), name_span);
    reserve(reader, name_span.end);
    reader->seen_func = true;
    reader->has_name = has_name;
    reader->has_statement = false;
    reader->tensors = (NameTable){0};
    reader->vague = NULL;
    reader->nvague = reader->vague_capacity = 0;
    reader->sb_blocks = 0;
    strmap_init(&reader->indices, &reader->scratch);
    reader->nopen = 0;
    reader->nameless = reader->depth = 0;
    if (!has_name) return;
    uint32_t count = (uint32_t)reader->nheaders;
    PUSH(&reader->scratch, reader->headers, reader->nheaders, reader->header_capacity, name_span);
    uint32_t first = strmap_add(&reader->func_names, name, count);
    if (first == count) return;
    COMPLAIN(reader, name_span, "function %.*s is defined twice",
             STR_ARGS(label_text(&reader->scratch, '@', name)));
    diag_note(reader->diags, reader->headers[first], true, "the first definition is here");
}

void end_func(Reader *reader) {
    if (!reader->has_name) return;
    Func func = reader->builder.func;
    bool broken = reader->fault != UINT32_MAX && reader->fault >= func.span.begin;
    FuncFacts facts = {broken, reader->vague};
    Module *module = reader->module;
    PUSH(reader->arena, module->funcs, module->nfuncs, reader->func_capacity, func);
    PUSH(&reader->scratch, reader->facts, reader->nfacts, reader->facts_capacity, facts);
}

bool begin_block(Reader *reader, Span span) {
    if (++reader->depth <= DEEPEST_NEST) return true;
    diag_error(reader->diags, span, "loops are nested more than %d deep", DEEPEST_NEST);
    return false;
}

void end_block(Reader *reader) {
    reader->depth--;
}

bool begin_nameless_loop(Reader *reader, Span span) {
    reader->nameless++;
    return begin_block(reader, span);
}

void end_nameless_loop(Reader *reader) {
    reader->nameless--;
    end_block(reader);
}

bool begin_loop(Reader *reader, Str name, Span name_span, int64_t low, int64_t high, Span range) {
    if (low >= high) {
        COMPLAIN(reader, range, "this loop never runs: %lld is not below %lld", (long long)low,
                 (long long)high);
        high = low < INT64_MAX ? low + 1 : low;
        reader->fault = range.begin;
    }
    reader->has_statement = true;
    uint32_t slot = strmap_add(&reader->indices, name, (uint32_t)reader->nopen);
    if (slot == reader->nopen)
        PUSH(&reader->scratch, reader->open, reader->nopen, reader->open_capacity, NO_LOOP);
    uint32_t loop = build_loop(&reader->builder, name, low, high, name_span);
    if (reader->open[slot] == NO_LOOP) {
        reader->open[slot] = loop;
    } else {
        COMPLAIN(reader, name_span, "index '%.*s' is that of a loop around this one",
                 STR_ARGS(name));
        Span outer = reader->builder.func.loops[reader->open[slot]].span;
        diag_note(reader->diags, outer, true, "the outer loop is here");
    }
    return begin_block(reader, name_span);
}

void end_loop(Reader *reader) {
    uint32_t loop = reader->builder.loop;
    uint32_t slot = strmap_get(&reader->indices, reader->builder.func.loops[loop].name);
    if (reader->open[slot] == loop) reader->open[slot] = NO_LOOP;
    build_end_loop(&reader->builder);
    end_block(reader);
}

uint32_t declare_tensor(Reader *reader, Tensor tensor, bool vague) {
    uint32_t id = build_tensor(&reader->builder, tensor);
    PUSH(&reader->scratch, reader->vague, reader->nvague, reader->vague_capacity, vague);
    names_add(&reader->tensors, &reader->scratch, reader->builder.func.tensors, id);
    return id;
}

static Str tensor_hint(Reader *reader, Str name) {
    const Func *func = &reader->builder.func;
    if (!may_suggest(reader, func->ntensors)) return STR("");
    Str *names = RAW_ARRAY(&reader->scratch, Str, func->ntensors);
    uint32_t count = 0;
    for (uint32_t i = 0; i < func->ntensors; i++)
        if (func->tensors[i].span.end != 0) names[count++] = func->tensors[i].name;
    return did_you_mean(reader, "%", name, names, count);
}

/* Told once for each name and function: the tensor that is made up has no place of declaration. */
static uint32_t undeclared_tensor(Reader *reader, Str name, Span span) {
    static const int64_t ONE = 1;
    if (worth_telling(reader, span)) {
        Str hint = tensor_hint(reader, name);
        diag_error(reader->diags, span, "tensor %.*s is not declared%.*s",
                   STR_ARGS(label_text(&reader->scratch, '%', name)), STR_ARGS(hint));
    }
    Tensor tensor = {.name = name,
                     .space = SPACE_PSUM,
                     .blocks = 1,
                     .shape = &ONE,
                     .rank = 1,
                     .partitions = 1,
                     .bytes = 1,
                     .align = GRANULE,
                     .base = -1,
                     .offset = -1};
    return declare_tensor(reader, tensor, true);
}

void add_operand(Reader *reader, Str name, Span span, Span name_span, const Blocks *blocks,
                 const Region *region) {
    uint32_t tensor = names_get(&reader->tensors, reader->builder.func.tensors, name);
    if (tensor == UINT32_MAX) tensor = undeclared_tensor(reader, name, name_span);
    if (reader->noperands == 0) reader->first_token = name_span;
    Operand operand = {tensor, span, blocks, region};
    PUSH(&reader->scratch, reader->operands, reader->noperands, reader->operand_capacity, operand);
}

const Blocks *make_blocks(Reader *reader, BlocksKind kind, Affine low, Affine high, Span span) {
    bool bad = reader->bad_index;
    reader->bad_index = false;
    if (bad) return NULL;
    Blocks *blocks = NEW(reader->arena, Blocks);
    *blocks = (Blocks){kind, low, high, span};
    return blocks;
}

const Region *make_region(Reader *reader, Region region, Span partitions, Span bytes) {
    bool empty = region.p0 >= region.p1;
    if (empty) COMPLAIN(reader, partitions, "these partitions are none: the end is exclusive");
    if (region.b0 >= region.b1) {
        COMPLAIN(reader, bytes, "these bytes are none: the end is exclusive");
        empty = true;
    }
    if (empty) return NULL;
    Region *made = NEW(reader->arena, Region);
    *made = region;
    return made;
}

static Str index_hint(Reader *reader, Str name) {
    const Func *func = &reader->builder.func;
    if (!may_suggest(reader, reader->depth)) return STR("");
    Str *names = RAW_ARRAY(&reader->scratch, Str, reader->depth);
    uint32_t count = 0;
    for (uint32_t loop = reader->builder.loop; loop != NO_LOOP; loop = func->loops[loop].parent)
        names[count++] = func->loops[loop].name;
    return did_you_mean(reader, "", name, names, count);
}

static void unknown_index(Reader *reader, Str name, Span span) {
    reader->bad_index = true;
    if (reader->nameless > 0 || !worth_telling(reader, span)) return;
    Str hint = index_hint(reader, name);
    diag_error(reader->diags, span, "no loop around this has the index '%.*s'%.*s", STR_ARGS(name),
               STR_ARGS(hint));
}

Term index_term(Reader *reader, Str name, Span span, int64_t coefficient) {
    uint32_t slot = strmap_get(&reader->indices, name);
    uint32_t loop = slot == UINT32_MAX ? NO_LOOP : reader->open[slot];
    if (loop == NO_LOOP) unknown_index(reader, name, span);
    return (Term){coefficient, loop};
}

void add_term(Reader *reader, Term term, bool negative) {
    if (negative) term.coefficient = -term.coefficient;
    PUSH(&reader->scratch, reader->terms, reader->nterms, reader->term_capacity, term);
}

Affine end_affine(Reader *reader, Span span) {
    Term *terms = RAW_ARRAY(reader->arena, Term, reader->nterms);
    memcpy(terms, reader->terms, reader->nterms * sizeof *terms);
    Affine affine = {terms, (uint32_t)reader->nterms, 0};
    reader->nterms = 0;
    bool overflow = false;
    if (affine.count > MOST_TERMS) {
        COMPLAIN(reader, span, "an expression has at most %d terms", MOST_TERMS);
        reader->bad_index = true;
        affine.count = 1;
    } else if (affine.count > 1 || affine.terms->loop != NO_LOOP) {
        if (!reader->bad_index) affine_range(affine, &reader->builder.func, &overflow);
    }
    if (overflow) {
        COMPLAIN(reader, span, "this can be larger than 64 bits hold");
        reader->bad_index = true;
    }
    return affine;
}

Affine end_remainder(Reader *reader, Affine affine, int64_t modulus, Span span) {
    affine.modulus = modulus;
    if (modulus > 0) return affine;
    COMPLAIN(reader, span, "a remainder is that of a division by 1 or more");
    reader->bad_index = true;
    return affine;
}

void add_compare(Reader *reader, Affine left, Comparison comparison, Affine right) {
    Compare compare = {left, right, comparison};
    if (reader->bad_index) { /* one that never holds, so that nothing is told of what it guards */
        Affine zero = affine_constant(reader->arena, 0);
        compare = (Compare){zero, zero, CMP_NE};
    }
    reader->bad_index = false;
    PUSH(&reader->scratch, reader->compares, reader->ncompares, reader->compare_capacity, compare);
}

void end_destinations(Reader *reader, bool accumulate, Span assign) {
    reader->ndst = (uint32_t)reader->noperands;
    if (accumulate && reader->ndst != 1)
        COMPLAIN(reader, assign, "'+=' takes exactly one destination");
}

static const Condition *take_condition(Reader *reader) {
    if (reader->ncompares == 0) return NULL;
    Compare *compares = RAW_ARRAY(reader->arena, Compare, reader->ncompares);
    memcpy(compares, reader->compares, reader->ncompares * sizeof *compares);
    Condition *condition = NEW(reader->arena, Condition);
    *condition = (Condition){compares, (uint32_t)reader->ncompares};
    reader->ncompares = 0;
    return condition;
}

void add_inst(Reader *reader, Str op, bool accumulate, Span span) {
    uint32_t count = (uint32_t)reader->noperands, ndst = reader->ndst;
    Operand *operands = RAW_ARRAY(reader->arena, Operand, count);
    if (count) memcpy(operands, reader->operands, count * sizeof *operands);
    if (ndst > 0) span = reader->first_token;
    Inst inst = {.op = op,
                 .kind = op_kind(op),
                 .accumulate = accumulate && ndst == 1,
                 .ndst = ndst,
                 .nsrc = count - ndst,
                 .operands = operands,
                 .condition = take_condition(reader),
                 .meta = take_metas(reader),
                 .span = span};
    build_inst(&reader->builder, inst);
    reader->has_statement = true;
    reader->noperands = 0;
    reader->ndst = 0;
}

/* Many keys are looked up in a map, few one by one. */
static bool has_key(Reader *reader, Str key) {
    if (reader->nmetas == FEW_METAS) {
        strmap_init(&reader->meta_keys, &reader->scratch);
        for (uint32_t i = 0; i < reader->nmetas; i++)
            strmap_add(&reader->meta_keys, reader->metas[i].key, i);
    }
    if (reader->nmetas >= FEW_METAS) {
        uint32_t count = (uint32_t)reader->nmetas;
        return strmap_add(&reader->meta_keys, key, count) != count;
    }
    for (uint32_t i = 0; i < reader->nmetas; i++)
        if (str_equal(reader->metas[i].key, key)) return true;
    return false;
}

void add_meta(Reader *reader, Meta meta, Span span) {
    if (has_key(reader, meta.key))
        COMPLAIN(reader, span, "'!%.*s' is given twice", STR_ARGS(meta.key));
    else
        PUSH(&reader->scratch, reader->metas, reader->nmetas, reader->meta_capacity, meta);
}

MetaList take_metas(Reader *reader) {
    if (reader->nmetas == 0) return (MetaList){NULL, 0};
    Meta *items = RAW_ARRAY(reader->arena, Meta, reader->nmetas);
    memcpy(items, reader->metas, reader->nmetas * sizeof *items);
    MetaList list = {items, (uint32_t)reader->nmetas};
    reader->nmetas = 0;
    return list;
}
