#include "spill/time/classes.h"

#include "spill/time/cells.h"

typedef struct {
    const TimeFacts *facts;
    int64_t *indices; /* [nloops] */
} ClassPass;

static uint32_t inst_of(const ClassPass *pass, uint32_t access) {
    return pass->facts->timeline.points[pass->facts->cells.accesses[access].point].inst;
}

static int64_t position_of(const ClassPass *pass, uint32_t gap) {
    const TimeGap *info = &pass->facts->gaps.gaps[gap];
    return access_position(pass->facts, info->cell, info->access, pass->indices);
}

/* Keys of a gap, of which the last counts most. */
enum { KEYS = 4 };

static void find_keys(const ClassPass *pass, uint32_t gap, uint64_t keys[KEYS]) {
    const TimeGap *info = &pass->facts->gaps.gaps[gap];
    const CellAccess *access = &pass->facts->cells.accesses[info->access];
    bool begins = info->access > pass->facts->cells.first[info->cell];
    keys[0] = access->point;
    keys[1] = (uint64_t)(info->source + 1) << 32 | (begins ? inst_of(pass, info->access - 1) : 0);
    keys[2] = (uint64_t)position_of(pass, gap);
    keys[3] = (uint64_t)inst_of(pass, info->access) << 16 | access->operand;
}

static bool same_class(const uint64_t *a, const uint64_t *b) {
    return a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static void open_class(const ClassPass *pass, Classes *classes, uint32_t at) {
    const TimeGap *info = &pass->facts->gaps.gaps[classes->members[at]];
    classes->items[classes->count++] =
        (GapClass){.first = at,
                   .inst = inst_of(pass, info->access),
                   .operand = pass->facts->cells.accesses[info->access].operand,
                   .position = position_of(pass, classes->members[at]),
                   .source = info->source};
}

void find_classes(TimeFacts *facts, Arena *arena) {
    uint32_t count = facts->gaps.count;
    Arena scratch;
    arena_init(&scratch);
    ClassPass pass = {facts, NEW_ARRAY(&scratch, int64_t, facts->func->nloops)};
    uint64_t(*keys)[KEYS] = arena_raw(&scratch, count, sizeof *keys);
    uint32_t *order = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t g = 0; g < count; g++) {
        order[g] = g;
        find_keys(&pass, g, keys[g]);
    }
    sort_rows(&keys[0][0], KEYS, order, count, &scratch);
    Classes *classes = &facts->classes;
    *classes = (Classes){.items = RAW_ARRAY(arena, GapClass, count),
                         .members = order,
                         .of = RAW_ARRAY(arena, uint32_t, count)};
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || !same_class(keys[order[i]], keys[order[i - 1]]))
            open_class(&pass, classes, i);
        classes->items[classes->count - 1].end = i + 1;
        classes->of[order[i]] = classes->count - 1;
    }
    arena_free(&scratch);
}

void order_by_side(const TimeFacts *facts, uint32_t class, Affine side, SortKey *keys,
                   Arena *scratch) {
    const GapClass *info = &facts->classes.items[class];
    int64_t *indices = NEW_ARRAY(scratch, int64_t, facts->func->nloops);
    for (uint32_t i = 0; i < info->end - info->first; i++) {
        const TimeGap *gap = &facts->gaps.gaps[facts->classes.members[info->first + i]];
        uint32_t point = facts->cells.accesses[gap->access].point;
        frame_first(&facts->timeline, facts->timeline.points[point].frame, indices);
        keys[i] = (SortKey){(uint64_t)affine_value(side, indices) ^ (UINT64_C(1) << 63), i};
    }
    sort_keys(keys, info->end - info->first, scratch);
}

bool share_place(const GapClass *a, const GapClass *b) {
    return a->inst == b->inst && a->operand == b->operand && a->position == b->position &&
           a->source == b->source;
}

/* ---- sides ---- */

/* True if the index of one loop says as much. */
static bool is_one_index(Affine side) {
    uint32_t loops = 0;
    for (uint32_t i = 0; i < side.count; i++)
        loops += side.terms[i].loop != NO_LOOP;
    return !side.modulus && loops < 2;
}

static void add_side(const Func *func, Sides *sides, Affine side) {
    int64_t value;
    if (affine_is_constant(side, func, &value)) return;
    for (uint32_t i = 0; i < sides->count; i++)
        if (affine_equal(sides->items[i], side)) return;
    sides->items[sides->count++] = side;
}

Sides find_sides(const Func *func, uint32_t inst, uint32_t operand, Arena *arena) {
    const Inst *info = &func->insts[inst];
    const Condition *condition = info->condition;
    uint32_t depth = info->loop == NO_LOOP ? 0 : func->loops[info->loop].depth + 1;
    uint32_t most = 1 + depth + (condition ? 2 * condition->count : 0);
    Sides sides = {.items = RAW_ARRAY(arena, Affine, most)};
    const Blocks *blocks = operand == UINT32_MAX ? NULL : info->operands[operand].blocks;
    if (blocks && blocks->kind != BLOCKS_ALL && !is_one_index(blocks->low))
        add_side(func, &sides, blocks->low);
    uint32_t *loops = RAW_ARRAY(arena, uint32_t, depth);
    uint32_t loop = info->loop;
    for (uint32_t d = depth; d-- > 0; loop = func->loops[loop].parent)
        loops[d] = loop;
    for (uint32_t d = 0; d < depth; d++) {
        Term *term = NEW(arena, Term);
        *term = (Term){1, loops[d]};
        add_side(func, &sides, (Affine){term, 1, 0});
    }
    for (uint32_t c = 0; condition && c < condition->count; c++) {
        const Compare *compare = &condition->compares[c];
        if (!compare->left.modulus && !compare->right.modulus) {
            add_side(func, &sides, affine_difference(arena, compare->left, compare->right));
        } else { /* remainders have no difference: each for itself */
            add_side(func, &sides, compare->left);
            add_side(func, &sides, compare->right);
        }
    }
    return sides;
}
