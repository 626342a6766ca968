#include "test/random_gen.h"

#include <string.h>

Affine gen_affine(Gen *gen, const Term *terms, uint32_t count) {
    Term *copy = RAW_ARRAY(gen_arena(gen), Term, count);
    memcpy(copy, terms, count * sizeof *terms);
    return (Affine){copy, count, 0};
}

Affine gen_constant(Gen *gen, int64_t value) {
    return affine_constant(gen_arena(gen), value);
}

uint32_t gen_add_offset(Gen *gen, Term *terms, uint32_t count, int64_t offset) {
    if (offset == 0 && count > 0) return count;
    uint32_t place = gen_percent(gen, 70) ? count : (uint32_t)gen_between(gen, 0, count);
    memmove(terms + place + 1, terms + place, (count - place) * sizeof *terms);
    terms[place] = (Term){offset, NO_LOOP};
    return count + 1;
}

/* Terms of one to three open loops, without a constant. */
static uint32_t loop_terms(Gen *gen, Term *terms) {
    static const int64_t COEFFICIENTS[] = {1, 1, 1, 1, -1, -1, 2, -2, 3, 0};
    uint32_t count = gen_percent(gen, 30) ? 1 : (uint32_t)gen_between(gen, 2, 3);
    uint32_t first = (uint32_t)gen_between(gen, 0, gen->depth - 1);
    if (count > gen->depth && gen_percent(gen, 80)) count = gen->depth;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t loop = gen->open[(first + i) % gen->depth];
        terms[i] = (Term){COEFFICIENTS[gen_between(gen, 0, 9)], loop};
    }
    return count;
}

/* A condition that an index stays inside [0, end); false where the draft has no room for it. */
static bool guard(Gen *gen, Draft *draft, Affine index, int64_t end) {
    Range range = affine_range(index, &gen->builder.func, NULL);
    if ((range.low < 0 || range.high >= end) && draft->nguards + 2 > MOST_COMPARES) return false;
    if (range.low < 0)
        draft->guards[draft->nguards++] = (Compare){index, gen_constant(gen, 0), CMP_GE};
    if (range.high >= end)
        draft->guards[draft->nguards++] = (Compare){index, gen_constant(gen, end), CMP_LT};
    return true;
}

/* A remainder of about as many values as there are blocks; at some iteration, maybe not the first,
 * it is one of them. */
static Affine remainder_index(Gen *gen, int64_t blocks) {
    Term terms[8];
    uint32_t n = loop_terms(gen, terms);
    n = gen_add_offset(gen, terms, n, gen_between(gen, -3, 3));
    Affine index = gen_affine(gen, terms, n);
    index.modulus = gen_percent(gen, 60) ? blocks : gen_between(gen, 1, blocks + 1);
    return index;
}

bool gen_index(Gen *gen, Draft *draft, int64_t blocks, int64_t count, Affine *index) {
    if (count == 1 && gen_percent(gen, 25)) {
        *index = remainder_index(gen, blocks);
        return guard(gen, draft, *index, blocks);
    }
    for (uint32_t attempt = 0; attempt < 16; attempt++) {
        Term terms[8];
        uint32_t n = loop_terms(gen, terms);
        Range range = affine_range((Affine){terms, n, 0}, &gen->builder.func, NULL);
        int64_t slack = blocks - count - (range.high - range.low);
        if (slack < 0 && !gen_percent(gen, 15)) continue;
        int64_t low = slack < 0 ? gen_between(gen, slack, 0) : gen_between(gen, 0, slack);
        if (gen_percent(gen, 10)) low += gen_percent(gen, 50) ? 1 : -1;
        /* At some iteration, at least, it shall be inside. */
        if (low + (range.high - range.low) < 0 || low > blocks - count) continue;
        n = gen_add_offset(gen, terms, n, low - range.low);
        *index = gen_affine(gen, terms, n);
        return guard(gen, draft, *index, blocks - count + 1);
    }
    return false;
}

static Affine plus(Gen *gen, Affine affine, int64_t offset) {
    Term terms[10];
    bool added = false;
    for (uint32_t i = 0; i < affine.count; i++) {
        terms[i] = affine.terms[i];
        if (terms[i].loop != NO_LOOP || added) continue;
        terms[i].coefficient += offset;
        added = true;
    }
    uint32_t count = affine.count;
    if (!added) terms[count++] = (Term){offset, NO_LOOP};
    return gen_affine(gen, terms, count);
}

const Blocks *gen_blocks(Gen *gen, BlocksKind kind, Affine low, Affine high) {
    Blocks *blocks = NEW(gen_arena(gen), Blocks);
    *blocks = (Blocks){.kind = kind, .low = low, .high = high};
    return blocks;
}

static const Blocks *constant_blocks(Gen *gen, int64_t blocks) {
    int64_t low = gen_between(gen, 0, blocks - 1);
    if (gen_percent(gen, 65))
        return gen_blocks(gen, BLOCKS_ONE, gen_constant(gen, low), (Affine){0});
    int64_t high = gen_between(gen, low + 1, blocks);
    return gen_blocks(gen, BLOCKS_RANGE, gen_constant(gen, low), gen_constant(gen, high));
}

const Blocks *gen_some_blocks(Gen *gen, Draft *draft, uint32_t tensor) {
    int64_t blocks = gen_tensor(gen, tensor)->blocks;
    if (blocks == 1) return gen_percent(gen, 95) ? NULL : constant_blocks(gen, 1);
    if (gen_percent(gen, 20)) return NULL;
    if (gen->code != CODE_ANY || gen->depth == 0 || gen_percent(gen, 25))
        return constant_blocks(gen, blocks);
    int64_t count = gen_percent(gen, 70) ? 1 : gen_between(gen, 2, blocks);
    Affine index;
    if (!gen_index(gen, draft, blocks, count, &index)) return constant_blocks(gen, blocks);
    if (count == 1) return gen_blocks(gen, BLOCKS_ONE, index, (Affine){0});
    return gen_blocks(gen, BLOCKS_RANGE, index, plus(gen, index, count));
}

const Region *gen_region(Gen *gen, const Form *form) {
    Region *region = NEW(gen_arena(gen), Region);
    *region = (Region){0, form->shape[0], 0, form->bytes};
    if (gen_percent(gen, 60) && form->bytes > 1) {
        region->b0 = gen_between(gen, 0, form->bytes - 1);
        region->b1 = gen_between(gen, region->b0 + 1, form->bytes);
    }
    if (gen_percent(gen, 50) && form->shape[0] > 1) {
        region->p0 = gen_between(gen, 0, form->shape[0] - 1);
        region->p1 = gen_between(gen, region->p0 + 1, form->shape[0]);
    }
    return region;
}

static Compare random_compare(Gen *gen) {
    Term terms[8];
    uint32_t count = 1;
    terms[0] = (Term){1, gen->open[gen_between(gen, 0, gen->depth - 1)]};
    if (gen_percent(gen, 25)) count = loop_terms(gen, terms);
    Affine left = gen_affine(gen, terms, count);
    if (gen_percent(gen, 25)) left.modulus = gen_between(gen, 1, 4);
    Comparison comparison = (Comparison)gen_between(gen, CMP_EQ, CMP_GE);
    if (gen->depth > 1 && gen_percent(gen, 35)) {
        terms[0] = (Term){1, gen->open[gen_between(gen, 0, gen->depth - 1)]};
        count = gen_add_offset(gen, terms, 1, gen_between(gen, -1, 1));
        Affine right = gen_affine(gen, terms, count);
        if (gen_percent(gen, 15)) right.modulus = gen_between(gen, 1, 4);
        return (Compare){left, right, comparison};
    }
    Range range = affine_range(left, &gen->builder.func, NULL);
    return (Compare){left, gen_constant(gen, gen_between(gen, range.low, range.high)), comparison};
}

const Condition *gen_condition(Gen *gen, const Draft *draft) {
    Compare compares[MOST_COMPARES + 2];
    uint32_t count = draft->nguards;
    memcpy(compares, draft->guards, count * sizeof *compares);
    if (gen->code == CODE_ANY && gen->depth > 0 && gen_percent(gen, 22)) {
        compares[count++] = random_compare(gen);
        if (gen_percent(gen, 40)) compares[count++] = random_compare(gen);
    }
    if (count == 0) return NULL;
    Condition *condition = NEW(gen_arena(gen), Condition);
    Compare *copy = RAW_ARRAY(gen_arena(gen), Compare, count);
    memcpy(copy, compares, count * sizeof *copy);
    *condition = (Condition){copy, count};
    return condition;
}
