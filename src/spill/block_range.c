#include "spill/block_range.h"

#include <assert.h>

#include "support/checked.h"
#include "support/search.h"
#include "support/sort.h"

/* An index cut in two: what is fixed while the copy lives, and the range of the rest. */
typedef struct {
    Affine outer; /* terms over loops around the copy, by loop, no constant; or a remainder, which
                     is all of the index */
    int64_t low, high;
    bool varies; /* the rest depends on loops inside */
} Cut;

/* Terms gathered by loop, without zeros: the canonical form of an affine. */
static Affine canonical(Affine affine, Arena *arena) {
    Affine zero = {0};
    return affine_difference(arena, affine, zero);
}

static bool is_around(const Func *func, Term term, uint32_t level) {
    return term.loop != NO_LOOP && level != NO_LOOP && loop_encloses(func, term.loop, level);
}

/* A remainder is not cut: it is fixed where all its terms are, else it may be any in its range. */
static bool is_fixed(const Func *func, uint32_t level, Affine index) {
    bool fixed = true;
    for (uint32_t i = 0; i < index.count; i++)
        fixed &= index.terms[i].loop == NO_LOOP || is_around(func, index.terms[i], level);
    return fixed;
}

static Cut cut_remainder(const Func *func, uint32_t level, Affine index) {
    Range range = affine_range(index, func, NULL);
    if (range.low < range.high && is_fixed(func, level, index)) return (Cut){.outer = index};
    return (Cut){.low = range.low, .high = range.high, .varies = range.low < range.high};
}

static Cut cut_index(const Func *func, uint32_t level, Affine index, Arena *arena) {
    if (index.modulus) return cut_remainder(func, level, index);
    Affine terms = canonical(index, arena);
    Term *outer = NEW_ARRAY(arena, Term, terms.count);
    Cut cut = {.outer = {outer, 0, 0}};
    for (uint32_t i = 0; i < terms.count; i++) {
        Term term = terms.terms[i];
        if (term.loop == NO_LOOP) {
            cut.low = saturating_add(cut.low, term.coefficient);
            cut.high = saturating_add(cut.high, term.coefficient);
        } else if (is_around(func, term, level)) {
            outer[cut.outer.count++] = term;
        } else {
            const Loop *loop = &func->loops[term.loop];
            int64_t a = saturating_mul(term.coefficient, loop->low);
            int64_t b = saturating_mul(term.coefficient, loop->high - 1);
            cut.low = saturating_add(cut.low, a < b ? a : b);
            cut.high = saturating_add(cut.high, a < b ? b : a);
            cut.varies |= a != b;
        }
    }
    return cut;
}

/* What lies outside the tensor is named only where a condition forbids the instruction. */
static void clip(Cut *cut, int64_t last) {
    if (cut->outer.count > 0) return;
    cut->varies |= cut->low < 0 || cut->high > last;
    if (cut->low < 0) cut->low = 0;
    if (cut->high > last) cut->high = last;
    if (cut->low > cut->high) cut->low = cut->high = 0;
}

/* Cuts of both ends of an operand's blocks; false where they do not move together. */
static bool cut_operand(const Func *func, uint32_t level, const Operand *operand, Arena *arena,
                        Cut *cut) {
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) {
        *cut = (Cut){.high = func->tensors[operand->tensor].blocks - 1};
        return true;
    }
    int64_t last = func->tensors[operand->tensor].blocks - 1;
    *cut = cut_index(func, level, blocks->low, arena);
    if (blocks->kind == BLOCKS_ONE) {
        clip(cut, last);
        return true;
    }
    Cut high = cut_index(func, level, blocks->high, arena);
    if (!affine_equal(cut->outer, high.outer)) return false;
    cut->varies |= high.varies;
    cut->high = saturating_sub(high.high, 1);
    if (cut->high < cut->low) return false;
    clip(cut, last);
    return true;
}

/* True if the copy's DMAs may be at the same time as all its accesses: these stand in its own loop,
 * under one condition, which theirs is then too. */
static bool runs_as_one(const Inst *const *insts, uint32_t count, uint32_t level) {
    for (uint32_t i = 0; i < count; i++)
        if (insts[i]->loop != level || !condition_equal(insts[i]->condition, insts[0]->condition))
            return false;
    return true;
}

/* True if the blocks at the cut's offsets are there in every iteration. */
static bool is_always_inside(const Func *func, const Cut *cut, int64_t blocks) {
    Range range = affine_range(cut->outer, func, NULL);
    return saturating_add(range.low, cut->low) >= 0 &&
           saturating_add(range.high, cut->high) < blocks;
}

/* All blocks between the least and the largest that any operand can name. */
static BlockRange loose_range(const Func *func, uint32_t level, const Operand *const *operands,
                              uint32_t count, Arena *arena) {
    BlockRange range = {.level = level, .loose = true};
    int64_t low = func->tensors[operands[0]->tensor].blocks - 1, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        BlockSpan span = operand_blocks(func, operands[i]);
        if (span.first < low) low = span.first;
        if (span.last > high) high = span.last;
    }
    if (low > high) low = high = 0;
    range.count = high - low + 1;
    range.offsets = RAW_ARRAY(arena, int64_t, (size_t)range.count);
    for (int64_t i = 0; i < range.count; i++)
        range.offsets[i] = low + i;
    return range;
}

/* The offsets of all cuts, each once, ascending. */
static void unite_offsets(BlockRange *range, const Cut *cuts, uint32_t count, Arena *arena) {
    SortKey *order = RAW_ARRAY(arena, SortKey, count);
    for (uint32_t i = 0; i < count; i++) /* offsets may be negative: keep their order */
        order[i] = (SortKey){(uint64_t)cuts[i].low ^ (1ull << 63), i};
    sort_keys(order, count, arena);
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += cuts[i].high - cuts[i].low + 1;
    range->offsets = RAW_ARRAY(arena, int64_t, (size_t)total);
    for (uint32_t i = 0; i < count; i++) {
        const Cut *cut = &cuts[order[i].id];
        for (int64_t offset = cut->low; offset <= cut->high; offset++)
            if (range->count == 0 || offset > range->offsets[range->count - 1])
                range->offsets[range->count++] = offset;
    }
}

BlockRange block_range_make(const Func *func, uint32_t level, const Operand *const *operands,
                            const Inst *const *insts, uint32_t count, Arena *arena) {
    BlockRange range = {.level = level};
    int64_t blocks = func->tensors[operands[0]->tensor].blocks;
    bool as_one = runs_as_one(insts, count, level);
    Cut *cuts = NEW_ARRAY(arena, Cut, count);
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool fits =
            cut_operand(func, level, operands[i], arena, &cuts[i]) &&
            affine_equal(cuts[i].outer, cuts[0].outer) &&
            (as_one || cuts[i].outer.count == 0 || is_always_inside(func, &cuts[i], blocks));
        total = fits ? saturating_add(total, cuts[i].high - cuts[i].low + 1) : INT64_MAX;
        if (total > saturating_mul(blocks, count))
            return loose_range(func, level, operands, count, arena);
    }
    range.base = cuts[0].outer;
    unite_offsets(&range, cuts, count, arena);
    return range.count <= blocks ? range : loose_range(func, level, operands, count, arena);
}

BlockRange block_range_whole(const Func *func, uint32_t tensor, Arena *arena) {
    Operand all = {.tensor = tensor};
    const Operand *operand = &all;
    BlockRange range = loose_range(func, NO_LOOP, &operand, 1, arena);
    range.loose = false;
    return range;
}

BlockExtent block_range_extent(const Func *func, const BlockRange *range, const Operand *operand) {
    Arena scratch;
    arena_init(&scratch);
    BlockExtent extent = {range->offsets[0], range->offsets[range->count - 1], false};
    Cut cut;
    if (!range->loose) {
        bool together = cut_operand(func, range->level, operand, &scratch, &cut);
        assert(together);
        (void)together;
        extent = (BlockExtent){cut.low, cut.high, !cut.varies};
    } else {
        BlockSpan span = operand_blocks(func, operand);
        if (span.exact && span.first <= span.last)
            extent = (BlockExtent){span.first, span.last, true};
    }
    arena_free(&scratch);
    return extent;
}

int64_t block_range_position(const BlockRange *range, int64_t offset) {
    int64_t at;
    FIND_FIRST(at, 0, range->count, range->offsets[at] >= offset);
    assert(at < range->count && range->offsets[at] == offset);
    return at;
}

/* The index without its outer terms, moved by `shift`: loop terms by loop, the constant last. */
static Affine inside_index(const Func *func, const BlockRange *range, Affine index, int64_t shift,
                           Arena *arena) {
    if (range->base.modulus) return affine_constant(arena, shift);
    Affine terms = canonical(affine_sum(index), arena);
    Term *kept = NEW_ARRAY(arena, Term, (size_t)terms.count + 1);
    uint32_t count = 0;
    int64_t constant = shift;
    for (uint32_t i = 0; i < terms.count; i++) {
        Term term = terms.terms[i];
        bool outer = !range->loose && !index.modulus && is_around(func, term, range->level);
        if (term.loop == NO_LOOP)
            constant = saturating_add(constant, term.coefficient);
        else if (!outer)
            kept[count++] = term;
    }
    if (constant != 0 || count == 0) kept[count++] = (Term){constant, NO_LOOP};
    return (Affine){kept, count, index.modulus};
}

const Blocks *blocks_in_range(const Func *func, const BlockRange *range, const Operand *operand,
                              Arena *arena) {
    BlockExtent extent = block_range_extent(func, range, operand);
    if (extent.exact && extent.high - extent.low + 1 == range->count) return NULL;
    Blocks *blocks = NEW(arena, Blocks);
    int64_t shift =
        range->loose ? -range->offsets[0] : block_range_position(range, extent.low) - extent.low;
    if (!operand->blocks || operand->blocks->kind == BLOCKS_ALL) {
        *blocks = (Blocks){.kind = BLOCKS_RANGE,
                           .low = affine_constant(arena, extent.low + shift),
                           .high = affine_constant(arena, extent.high + 1 + shift)};
        return blocks;
    }
    if (shift == 0 && range->base.count == 0) return operand->blocks;
    blocks->kind = operand->blocks->kind;
    blocks->low = inside_index(func, range, operand->blocks->low, shift, arena);
    if (blocks->kind == BLOCKS_RANGE)
        blocks->high = inside_index(func, range, operand->blocks->high, shift, arena);
    return blocks;
}

/* base + offset, the constant last and dropped where it is 0 and not alone. */
static Affine moved(Affine base, int64_t offset, Arena *arena) {
    assert(!base.modulus || offset == 0);
    if (base.modulus) return base;
    Term *terms = NEW_ARRAY(arena, Term, (size_t)base.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < base.count; i++)
        terms[count++] = base.terms[i];
    if (offset != 0 || count == 0) terms[count++] = (Term){offset, NO_LOOP};
    return (Affine){terms, count, 0};
}

const Blocks *blocks_between(Affine base, int64_t low, int64_t high, int64_t blocks, Arena *arena) {
    if (base.count == 0 && low == 0 && high == blocks - 1) return NULL;
    Blocks *result = NEW(arena, Blocks);
    *result =
        (Blocks){.kind = low == high ? BLOCKS_ONE : BLOCKS_RANGE, .low = moved(base, low, arena)};
    if (low != high) result->high = moved(base, high + 1, arena);
    return result;
}
