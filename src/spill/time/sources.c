#include "spill/time/sources.h"

#include "spill/conditions/fit.h"
#include "spill/parts.h"
#include "spill/time/classes.h"
#include "support/checked.h"

typedef struct {
    const Timeline *timeline;
    const Cells *cells;
    TimeGaps *gaps;
    const Classes *classes;
    Arena *arena;
    Arena scratch;
    int64_t *indices; /* [nloops] */
} FormPass;

static uint32_t point_of(const FormPass *pass, const TimeGap *gap) {
    return pass->cells->accesses[gap->access].point;
}

static const Inst *inst_at(const FormPass *pass, uint32_t point) {
    return &pass->timeline->func->insts[pass->timeline->points[point].inst];
}

/* The block in the first iteration that a point stands for, or in its last. */
static int64_t value_at(const FormPass *pass, Affine affine, uint32_t point, bool last) {
    uint32_t frame = pass->timeline->points[point].frame;
    (last ? frame_last : frame_first)(pass->timeline, frame, pass->indices);
    return affine_value(affine, pass->indices);
}

static const Operand *dram_operand(const Inst *inst) {
    return &inst->operands[inst->kind == OP_LOAD ? 1 : 0];
}

/* True if the form gives each gap of the class its block. Where that varies in a run, `own` is the
 * index of the load or save, and the two must move alike. */
static bool form_fits(const FormPass *pass, const GapClass *class, Affine form) {
    for (uint32_t i = class->first; i < class->end; i++) {
        const TimeGap *gap = &pass->gaps->gaps[pass->classes->members[i]];
        uint32_t point = point_of(pass, gap);
        if (value_at(pass, form, point, false) != gap->block) return false;
        const Blocks *own = dram_operand(inst_at(pass, gap->since))->blocks;
        int64_t moved = 0;
        if (gap->varies)
            moved = value_at(pass, own->low, gap->since, true) -
                    value_at(pass, own->low, gap->since, false);
        if (value_at(pass, form, point, true) != gap->block + moved) return false;
    }
    return true;
}

/* True if every loop that the form names lies around the instruction. */
static bool is_in_scope(const FormPass *pass, Affine form, uint32_t inst) {
    const Func *func = pass->timeline->func;
    for (uint32_t i = 0; i < form.count; i++)
        if (form.terms[i].loop != NO_LOOP &&
            !loop_encloses(func, form.terms[i].loop, func->insts[inst].loop))
            return false;
    return true;
}

/* The index of the load or save itself, moved by the position in it. */
static bool try_own_index(FormPass *pass, const GapClass *class, Affine *form) {
    const TimeGap *gap = &pass->gaps->gaps[pass->classes->members[class->first]];
    const Blocks *blocks = dram_operand(inst_at(pass, gap->since))->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) {
        *form = affine_constant(pass->arena, gap->block);
    } else {
        int64_t at = value_at(pass, blocks->low, gap->since, false);
        if (blocks->low.modulus && at != gap->block) return false;
        *form = shift_affine(pass->arena, blocks->low, gap->block - at);
    }
    return is_in_scope(pass, *form, class->inst) && form_fits(pass, class, *form);
}

/* The operand's own index, moved. */
static bool try_operand_index(FormPass *pass, const GapClass *class, Affine *form) {
    const TimeGap *gap = &pass->gaps->gaps[pass->classes->members[class->first]];
    const Operand *operand = &pass->timeline->func->insts[class->inst].operands[class->operand];
    if (!operand->blocks || operand->blocks->kind == BLOCKS_ALL) return false;
    Affine own = operand->blocks->low;
    int64_t by = gap->block - value_at(pass, own, point_of(pass, gap), false);
    if (own.modulus && by != 0) return false;
    *form = shift_affine(pass->arena, own, by);
    return form_fits(pass, class, *form);
}

/* Any form in the indexes of the loops around. */
static bool try_any(FormPass *pass, const GapClass *class, Affine *form) {
    const Func *func = pass->timeline->func;
    uint32_t loop = func->insts[class->inst].loop;
    uint32_t depth = loop == NO_LOOP ? 0 : func->loops[loop].depth + 1;
    uint32_t count = class->end - class->first;
    uint32_t *loops = RAW_ARRAY(&pass->scratch, uint32_t, depth);
    for (uint32_t d = depth; d-- > 0; loop = func->loops[loop].parent)
        loops[d] = loop;
    int64_t *indices = RAW_ARRAY(&pass->scratch, int64_t, (size_t)count * depth);
    int64_t *blocks = RAW_ARRAY(&pass->scratch, int64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        const TimeGap *gap = &pass->gaps->gaps[pass->classes->members[class->first + i]];
        uint32_t frame = pass->timeline->points[point_of(pass, gap)].frame;
        if (gap->varies) return false;
        frame_first(pass->timeline, frame, pass->indices);
        for (uint32_t d = 0; d < depth; d++)
            indices[(size_t)i * depth + d] = pass->indices[loops[d]];
        blocks[i] = gap->block;
    }
    FitSamples samples = {depth, count, loops, indices, blocks};
    return fit_affine(&samples, pass->arena, form) && form_fits(pass, class, *form);
}

static void lose_source(const FormPass *pass, const GapClass *class, const Target *target) {
    for (uint32_t i = class->first; i < class->end; i++) {
        TimeGap *gap = &pass->gaps->gaps[pass->classes->members[i]];
        Region moved = pass->gaps->moved[pass->cells->tensor[gap->cell]];
        gap->source = NO_SOURCE;
        gap->repeats = gap->varies = false;
        gap->load = saturating_mul(part_dma(target, moved),
                                   point_trips(pass->timeline, point_of(pass, gap)));
        if (gap->load > MOST_CYCLES) gap->load = MOST_CYCLES;
    }
}

/* Classes of one place of the text take the form of a larger one where that is right for them too:
 * one reload serves all. */
static void share_forms(const FormPass *pass, Affine *forms) {
    const GapClass *items = pass->classes->items;
    for (uint32_t first = 0, end; first < pass->classes->count; first = end) {
        uint32_t most = first;
        for (end = first; end < pass->classes->count && share_place(&items[first], &items[end]);
             end++)
            if (items[end].end - items[end].first > items[most].end - items[most].first) most = end;
        for (uint32_t c = first; c < end && forms[most].count > 0; c++)
            if (forms[c].count > 0 && form_fits(pass, &items[c], forms[most]))
                forms[c] = forms[most];
    }
}

void find_source_forms(TimeFacts *facts, Arena *arena) {
    FormPass pass = {
        &facts->timeline, &facts->cells, &facts->gaps, &facts->classes, arena, {0}, NULL};
    arena_init(&pass.scratch);
    Affine *forms = NEW_ARRAY(arena, Affine, facts->classes.count);
    for (uint32_t c = 0; c < facts->classes.count; c++) {
        const GapClass *class = &facts->classes.items[c];
        arena_reset(&pass.scratch);
        pass.indices = NEW_ARRAY(&pass.scratch, int64_t, facts->func->nloops);
        if (class->source == NO_SOURCE || try_own_index(&pass, class, &forms[c]) ||
            try_operand_index(&pass, class, &forms[c]) || try_any(&pass, class, &forms[c]))
            continue;
        forms[c] = (Affine){0};
        lose_source(&pass, class, facts->target);
    }
    share_forms(&pass, forms);
    facts->sources = forms;
    arena_free(&pass.scratch);
}
