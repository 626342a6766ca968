#include "spill/window.h"

#include <assert.h>

#include "support/checked.h"
#include "support/search.h"
#include "support/sort.h"

/* An index cut in two: what is fixed while the copy lives, and the range of the rest. */
typedef struct {
    Affine outer; /* terms over loops around the copy, by loop, no constant */
    int64_t low, high;
    bool varies; /* the rest depends on loops inside */
} Cut;

/* Terms gathered by loop, without zeros: the canonical form of an affine. */
static Affine canonical(Affine affine, Arena *arena) {
    Affine zero = {NULL, 0};
    return affine_difference(arena, affine, zero);
}

static Cut cut_index(const Func *func, uint32_t level, Affine index, Arena *arena) {
    Affine terms = canonical(index, arena);
    Term *outer = NEW_ARRAY(arena, Term, terms.count);
    Cut cut = {.outer = {outer, 0}};
    for (uint32_t i = 0; i < terms.count; i++) {
        Term term = terms.terms[i];
        if (term.loop == NO_LOOP) {
            cut.low = saturating_add(cut.low, term.coefficient);
            cut.high = saturating_add(cut.high, term.coefficient);
        } else if (level != NO_LOOP && loop_encloses(func, term.loop, level)) {
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

/* Narrows a loop's range by a comparison of that index alone with a constant. */
static void narrow(const Compare *compare, int64_t *low, int64_t *high, uint32_t loop,
                   Arena *arena) {
    Affine sum = affine_difference(arena, compare->left, compare->right);
    int64_t step = affine_coefficient(sum, loop), rest = affine_offset(sum);
    for (uint32_t i = 0; i < sum.count; i++)
        if (sum.terms[i].loop != loop && sum.terms[i].loop != NO_LOOP) return;
    if ((step != 1 && step != -1) || rest == INT64_MIN || rest == INT64_MAX) return;
    int64_t bound = step == 1 ? -rest : rest; /* index CMP bound, turned where step is -1 */
    Comparison comparison = compare->comparison;
    if (step == -1) {
        static const Comparison turned[] = {
            [CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE, [CMP_LT] = CMP_GT,
            [CMP_LE] = CMP_GE, [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE};
        comparison = turned[comparison];
    }
    if (comparison == CMP_LT) bound--;
    if (comparison == CMP_GT) bound++;
    bool below = comparison == CMP_EQ || comparison == CMP_LT || comparison == CMP_LE;
    bool above = comparison == CMP_EQ || comparison == CMP_GT || comparison == CMP_GE;
    if (below && bound < *high) *high = bound;
    if (above && bound > *low) *low = bound;
}

/* The range of an index while the instruction's condition holds, as far as that is easily seen. */
static Range guarded_range(const Func *func, Affine index, const Condition *condition,
                           Arena *arena) {
    Affine terms = canonical(index, arena);
    Range range = {0, 0};
    for (uint32_t i = 0; i < terms.count; i++) {
        Term term = terms.terms[i];
        int64_t low = 1, high = 1;
        if (term.loop != NO_LOOP) {
            low = func->loops[term.loop].low;
            high = func->loops[term.loop].high - 1;
            for (uint32_t c = 0; condition && c < condition->count; c++)
                narrow(&condition->compares[c], &low, &high, term.loop, arena);
            if (low > high) { /* it never holds: any range will do that is within the loop's */
                low = func->loops[term.loop].low;
                high = func->loops[term.loop].high - 1;
            }
        }
        int64_t a = saturating_mul(term.coefficient, low);
        int64_t b = saturating_mul(term.coefficient, high);
        range.low = saturating_add(range.low, a < b ? a : b);
        range.high = saturating_add(range.high, a < b ? b : a);
    }
    return range;
}

/* True if the operand may name blocks that its tensor does not have. */
static bool can_stray(const Func *func, const Operand *operand, const Inst *inst, Arena *arena) {
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) return false;
    int64_t last = func->tensors[operand->tensor].blocks - 1;
    Range low = guarded_range(func, blocks->low, inst->condition, arena);
    Range high = low;
    if (blocks->kind == BLOCKS_RANGE) {
        high = guarded_range(func, blocks->high, inst->condition, arena);
        high.high = saturating_sub(high.high, 1);
    }
    return low.low < 0 || high.high > last;
}

/* Blocks that a tensor does not have are named only where a condition forbids it. */
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

/* All blocks between the least and the largest that any operand can name. */
static Window loose_window(const Func *func, uint32_t level, const Operand *const *operands,
                           uint32_t count, Arena *arena) {
    Window window = {.level = level, .loose = true};
    int64_t low = func->tensors[operands[0]->tensor].blocks - 1, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        BlockSpan span = operand_blocks(func, operands[i]);
        if (span.first < low) low = span.first;
        if (span.last > high) high = span.last;
    }
    if (low > high) low = high = 0;
    window.count = high - low + 1;
    window.offsets = RAW_ARRAY(arena, int64_t, (size_t)window.count);
    for (int64_t i = 0; i < window.count; i++)
        window.offsets[i] = low + i;
    return window;
}

/* The offsets of all cuts, each once, ascending. */
static void unite_offsets(Window *window, const Cut *cuts, uint32_t count, Arena *arena) {
    SortKey *order = RAW_ARRAY(arena, SortKey, count);
    for (uint32_t i = 0; i < count; i++) /* offsets may be negative: keep their order */
        order[i] = (SortKey){(uint64_t)cuts[i].low ^ (1ull << 63), i};
    sort_keys(order, count, arena);
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += cuts[i].high - cuts[i].low + 1;
    window->offsets = RAW_ARRAY(arena, int64_t, (size_t)total);
    for (uint32_t i = 0; i < count; i++) {
        const Cut *cut = &cuts[order[i].id];
        for (int64_t offset = cut->low; offset <= cut->high; offset++)
            if (window->count == 0 || offset > window->offsets[window->count - 1])
                window->offsets[window->count++] = offset;
    }
}

Window window_make(const Func *func, uint32_t level, const Operand *const *operands,
                   const Inst *const *insts, uint32_t count, Arena *arena) {
    Window window = {.level = level};
    int64_t blocks = func->tensors[operands[0]->tensor].blocks;
    const Inst unguarded = {0};
    Cut *cuts = NEW_ARRAY(arena, Cut, count);
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool fits = cut_operand(func, level, operands[i], arena, &cuts[i]) &&
                    affine_equal(cuts[i].outer, cuts[0].outer) &&
                    !can_stray(func, operands[i], insts[i], arena) &&
                    !(cuts[i].outer.count > 0 && cuts[i].varies &&
                      can_stray(func, operands[i], &unguarded, arena));
        total = fits ? saturating_add(total, cuts[i].high - cuts[i].low + 1) : INT64_MAX;
        if (total > saturating_mul(blocks, count))
            return loose_window(func, level, operands, count, arena);
    }
    window.base = cuts[0].outer;
    unite_offsets(&window, cuts, count, arena);
    return window.count <= blocks ? window : loose_window(func, level, operands, count, arena);
}

Window window_whole(const Func *func, uint32_t tensor, Arena *arena) {
    Operand all = {.tensor = tensor};
    const Operand *operand = &all;
    Window window = loose_window(func, NO_LOOP, &operand, 1, arena);
    window.loose = false;
    return window;
}

WindowExtent window_extent(const Func *func, const Window *window, const Operand *operand) {
    Arena scratch;
    arena_init(&scratch);
    WindowExtent extent = {window->offsets[0], window->offsets[window->count - 1], false};
    Cut cut;
    if (!window->loose) {
        bool together = cut_operand(func, window->level, operand, &scratch, &cut);
        assert(together);
        (void)together;
        extent = (WindowExtent){cut.low, cut.high, !cut.varies};
    } else {
        BlockSpan span = operand_blocks(func, operand);
        if (span.exact && span.first <= span.last)
            extent = (WindowExtent){span.first, span.last, true};
    }
    arena_free(&scratch);
    return extent;
}

int64_t window_position(const Window *window, int64_t offset) {
    int64_t at;
    FIND_FIRST(at, 0, window->count, window->offsets[at] >= offset);
    assert(at < window->count && window->offsets[at] == offset);
    return at;
}

/* The index without its outer terms, moved by `shift`: loop terms by loop, the constant last. */
static Affine inside_index(const Func *func, const Window *window, Affine index, int64_t shift,
                           Arena *arena) {
    Affine terms = canonical(index, arena);
    Term *kept = NEW_ARRAY(arena, Term, (size_t)terms.count + 1);
    uint32_t count = 0;
    int64_t constant = shift;
    for (uint32_t i = 0; i < terms.count; i++) {
        Term term = terms.terms[i];
        bool outer = !window->loose && term.loop != NO_LOOP && window->level != NO_LOOP &&
                     loop_encloses(func, term.loop, window->level);
        if (term.loop == NO_LOOP)
            constant = saturating_add(constant, term.coefficient);
        else if (!outer)
            kept[count++] = term;
    }
    if (constant != 0 || count == 0) kept[count++] = (Term){constant, NO_LOOP};
    return (Affine){kept, count};
}

const Blocks *window_blocks(const Func *func, const Window *window, const Operand *operand,
                            Arena *arena) {
    WindowExtent extent = window_extent(func, window, operand);
    if (extent.exact && extent.high - extent.low + 1 == window->count) return NULL;
    Blocks *blocks = NEW(arena, Blocks);
    int64_t shift =
        window->loose ? -window->offsets[0] : window_position(window, extent.low) - extent.low;
    if (!operand->blocks || operand->blocks->kind == BLOCKS_ALL) {
        *blocks = (Blocks){BLOCKS_RANGE, affine_constant(arena, extent.low + shift),
                           affine_constant(arena, extent.high + 1 + shift)};
        return blocks;
    }
    blocks->kind = operand->blocks->kind;
    blocks->low = inside_index(func, window, operand->blocks->low, shift, arena);
    if (blocks->kind == BLOCKS_RANGE)
        blocks->high = inside_index(func, window, operand->blocks->high, shift, arena);
    return blocks;
}

/* base + offset, the constant last and dropped where it is 0 and not alone. */
static Affine moved(Affine base, int64_t offset, Arena *arena) {
    Term *terms = NEW_ARRAY(arena, Term, (size_t)base.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < base.count; i++)
        terms[count++] = base.terms[i];
    if (offset != 0 || count == 0) terms[count++] = (Term){offset, NO_LOOP};
    return (Affine){terms, count};
}

const Blocks *blocks_between(Affine base, int64_t low, int64_t high, int64_t blocks, Arena *arena) {
    if (base.count == 0 && low == 0 && high == blocks - 1) return NULL;
    Blocks *result = NEW(arena, Blocks);
    *result =
        (Blocks){.kind = low == high ? BLOCKS_ONE : BLOCKS_RANGE, .low = moved(base, low, arena)};
    if (low != high) result->high = moved(base, high + 1, arena);
    return result;
}
