#include "driver/spilled.h"

#include "driver/forcing.h"
#include "driver/next_best.h"
#include "ir/dma.h"
#include "ir/runs.h"
#include "support/checked.h"

typedef struct {
    const Reported *result;
    const Live *live; /* of the result */
    const Source *source;
    Arena scratch;
    const uint32_t *need; /* [ninsts of the input] granules, as in Peak */
    uint32_t *moved_to;   /* [ninsts of the input] its point in the result; UINT32_MAX: dropped */
    DmaSum *sums;         /* [ntensors of the input] of the DMAs inserted for each */
    int64_t *gone;        /* [ntensors of the input] cycles of its loads that run no more */
    Forcing forcing;
    Leaving leaving; /* of the result */
    uint32_t *first; /* [ntensors + 1] in `lies` */
    uint32_t *lies;  /* tensors of the result that stand for each one of the input, on chip */
} SpilledPass;

static void find_moved(SpilledPass *pass) {
    const Rewritten *code = pass->result->code;
    uint32_t count = pass->result->facts->func->ninsts;
    pass->moved_to = RAW_ARRAY(&pass->scratch, uint32_t, count);
    for (uint32_t p = 0; p < count; p++)
        pass->moved_to[p] = UINT32_MAX;
    for (uint32_t p = 0; p < code->func->ninsts; p++)
        if (code->origin_inst[p] != INSERTED) pass->moved_to[code->origin_inst[p]] = p;
}

static void sum_inserted(SpilledPass *pass) {
    const Rewritten *code = pass->result->code;
    const Facts *facts = pass->result->facts;
    pass->sums = NEW_ARRAY(&pass->scratch, DmaSum, facts->func->ntensors);
    for (uint32_t p = 0; p < code->func->ninsts; p++) {
        const Inst *inst = &code->func->insts[p];
        if (code->origin_inst[p] != INSERTED || inst->ndst == 0 || inst->nsrc == 0) continue;
        DmaSum one = sum_dma(code->func, inst, facts->target);
        add_dmas(&pass->sums[code->origin[dma_on_chip(inst)->tensor]], one);
    }
}

/* Loads of the input less those that are left of them. */
static void sum_gone(SpilledPass *pass) {
    const Facts *facts = pass->result->facts;
    const Func *func = facts->func, *after = pass->result->code->func;
    pass->gone = NEW_ARRAY(&pass->scratch, int64_t, func->ntensors);
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (inst->kind != OP_LOAD) continue;
        int64_t *gone = &pass->gone[inst_dst(inst)->tensor];
        *gone = saturating_add(*gone, sum_dma(func, inst, facts->target).cycles);
        if (pass->moved_to[p] == UINT32_MAX) continue;
        const Inst *left = &after->insts[pass->moved_to[p]];
        *gone = saturating_sub(*gone, sum_dma(after, left, facts->target).cycles);
    }
}

static void gather_parts(SpilledPass *pass) {
    const Rewritten *code = pass->result->code;
    uint32_t count = pass->result->facts->func->ntensors;
    pass->first = NEW_ARRAY(&pass->scratch, uint32_t, (size_t)count + 2);
    pass->lies = RAW_ARRAY(&pass->scratch, uint32_t, code->func->ntensors);
    for (uint32_t u = 0; u < code->func->ntensors; u++)
        pass->first[code->origin[u] + 2] += code->role[u] != ROLE_HOME;
    for (uint32_t t = 2; t <= count + 1; t++)
        pass->first[t] += pass->first[t - 1];
    for (uint32_t u = 0; u < code->func->ntensors; u++)
        if (code->role[u] != ROLE_HOME) pass->lies[pass->first[code->origin[u] + 1]++] = u;
}

static bool is_on_chip(const SpilledPass *pass, uint32_t t, uint32_t point) {
    for (uint32_t i = pass->first[t]; i < pass->first[t + 1]; i++)
        if (live_at(pass->live->whole[pass->lies[i]], point)) return true;
    return false;
}

static uint32_t find_forcing_point(const SpilledPass *pass, uint32_t t) {
    LiveRange range = pass->result->facts->live.whole[t];
    uint32_t first = pass->first[t];
    return forcing_point(&pass->forcing, range, pass->lies + first, pass->first[t + 1] - first);
}

static SpilledTensor describe(const SpilledPass *pass, uint32_t t, int64_t blocks) {
    const Func *func = pass->result->facts->func;
    SpilledTensor one = {.tensor = t,
                         .name = pass->result->facts->names[t],
                         .blocks = blocks,
                         .of = func->tensors[t].blocks,
                         .saves_run = pass->sums[t].saves_run,
                         .reloads_run = pass->sums[t].reloads_run,
                         .cycles = pass->sums[t].cycles,
                         .loads_gone = pass->gone[t],
                         .forced = {.point = find_forcing_point(pass, t)}};
    one.op = func->insts[one.forced.point].op;
    one.needed = (int64_t)pass->need[one.forced.point] * GRANULE;
    Span span = func->insts[one.forced.point].span;
    if (pass->source && span.end > span.begin)
        one.forced.line = source_line(pass->source, span.begin);
    return one;
}

/* ---- the next best choice ---- */

/* True if the block stays over that instruction: its tensor is on chip there, and no block of that
 * leaves in place. */
static bool stays_there(const void *context, uint32_t t, int64_t block, uint32_t inst) {
    const SpilledPass *pass = context;
    uint32_t point = pass->moved_to[inst];
    if (point == UINT32_MAX || !is_on_chip(pass, t, point)) return false;
    for (uint32_t i = pass->first[t]; i < pass->first[t + 1]; i++) {
        uint32_t u = pass->lies[i];
        if (pass->leaving.count[u] > 0 && pass->leaving.blocks[u][block]) return false;
    }
    return true;
}

static void note_choice(const SpilledPass *pass, const LeaveChoice *choice, SpilledTensor *one) {
    const Facts *facts = pass->result->facts;
    /* Blocks that leave in place may do so in fewer iterations: then nothing is known. */
    one->priced = choice->known && choice->here <= one->cycles;
    one->here = choice->here;
    if (!one->priced || choice->next == UINT32_MAX) return;
    one->next = facts->names[choice->next];
    one->next_blocks = choice->blocks;
    one->next_of = facts->func->tensors[choice->next].blocks;
    one->next_cycles = choice->cycles;
}

/* The function laid out in time, with gaps: as it is already, or straight code; NULL where it is
 * too long. */
static const TimeFacts *in_time_with_gaps(const Occupancy *before, TimeFacts *own, Arena *arena) {
    enum { MOST = 1 << 24 };
    TimeOptions options = {.full = MOST,
                           .most_points = MOST,
                           .most_accesses = MOST,
                           .remat = before->of->remat,
                           .keeps_loads = true};
    if (before->in_time) return &before->facts;
    bool laid_out = before->func->nloops == 0 &&
                    find_cell_facts(before->func, before->of->target, options, arena, own);
    return laid_out ? own : NULL;
}

/* [points] what is needed there; the points of straight code are instructions of it. */
static const uint32_t *needs_in_time(const SpilledPass *pass, const Occupancy *before,
                                     const Timeline *timeline, Arena *arena) {
    if (before->in_time) return before->needs;
    uint32_t *needs = RAW_ARRAY(arena, uint32_t, timeline->npoints);
    for (uint32_t p = 0; p < timeline->npoints; p++)
        needs[p] = pass->need[timeline->points[p].inst];
    return needs;
}

static void price_choices(SpilledPass *pass, const Occupancy *before, Report *report) {
    TimeFacts own;
    const TimeFacts *facts = in_time_with_gaps(before, &own, &pass->scratch);
    if (!facts) return;
    LeaveQuestion question = {.facts = facts,
                              .stays = stays_there,
                              .context = pass,
                              .needs =
                                  needs_in_time(pass, before, &facts->timeline, &pass->scratch)};
    LeaveChoice *choices = NEW_ARRAY(&pass->scratch, LeaveChoice, report->nspilled);
    for (uint32_t i = 0; i < report->nspilled; i++)
        choices[i] = (LeaveChoice){.tensor = report->spilled[i].tensor,
                                   .inst = report->spilled[i].forced.point};
    find_next_best(&question, choices, report->nspilled, &pass->scratch);
    for (uint32_t i = 0; i < report->nspilled; i++)
        note_choice(pass, &choices[i], &report->spilled[i]);
}

/* ---- the whole ---- */

void find_spilled_tensors(const Reported *result, const Live *live, const Occupancy *before,
                          Report *report, Arena *arena) {
    const Facts *facts = result->facts;
    SpilledPass pass = {.result = result, .live = live, .source = before->of->source};
    arena_init(&pass.scratch);
    pass.need = needs_of_insts(before, &pass.scratch);
    find_moved(&pass);
    sum_inserted(&pass);
    sum_gone(&pass);
    gather_parts(&pass);
    pass.forcing = forcing_make(result->code, live, pass.need, facts->func->ninsts, &pass.scratch);
    pass.leaving = leaving_blocks(result->code->func, &pass.scratch);
    const int64_t *blocks = count_spilled(result, &pass.scratch);
    report->spilled = RAW_ARRAY(arena, SpilledTensor, report->spilled_tensors);
    report->loads_gone = saturating_sub(sum_dmas(result->input, facts->target).cycles,
                                        sum_dmas(facts->func, facts->target).cycles);
    for (uint32_t t = 0; t < facts->func->ntensors; t++) {
        report->loads_gone = saturating_add(report->loads_gone, pass.gone[t]);
        if (blocks[t] > 0) report->spilled[report->nspilled++] = describe(&pass, t, blocks[t]);
    }
    price_choices(&pass, before, report);
    arena_free(&pass.scratch);
}
