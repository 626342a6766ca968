#include "driver/spilled.h"

#include "ir/dma.h"

typedef struct {
    const Reported *result;
    const Live *live; /* of the result */
    const Source *source;
    Arena scratch;
    const uint32_t *need; /* [ninsts of the input] granules, as in Peak */
    uint32_t *moved_to;   /* [ninsts of the input] its point in the result; UINT32_MAX: dropped */
    DmaSum *sums;         /* [ntensors of the input] of the DMAs inserted for each */
    uint32_t *first;      /* [ntensors + 1] in `lies` */
    uint32_t *lies;       /* tensors of the result that stand for each one of the input, on chip */
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
        const Operand *near = inst->kind == OP_LOAD ? inst_dst(inst) : inst_src(inst);
        DmaSum *sum = &pass->sums[code->origin[near->tensor]];
        DmaSum one = sum_dma(code->func, inst, facts->target);
        sum->cycles += one.cycles;
        sum->saves_run += one.saves_run;
        sum->reloads_run += one.reloads_run;
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

/* Where most would be needed with the tensor while it is away; of one that leaves in place, while
 * it lives. */
static uint32_t find_forcing_point(const SpilledPass *pass, uint32_t t) {
    LiveRange range = pass->result->facts->live.whole[t];
    uint32_t away = UINT32_MAX, any = UINT32_MAX;
    const uint32_t *need = pass->need;
    for (uint32_t i = 0; i < range.count; i++)
        for (uint32_t p = range.items[i].first; p <= range.items[i].last; p++) {
            if (any == UINT32_MAX || need[p] > need[any]) any = p;
            if (away != UINT32_MAX && need[p] <= need[away]) continue;
            uint32_t moved = pass->moved_to[p];
            if (moved != UINT32_MAX && !is_on_chip(pass, t, moved)) away = p;
        }
    return away != UINT32_MAX ? away : any;
}

static SpilledTensor describe(const SpilledPass *pass, uint32_t t, int64_t blocks) {
    const Func *func = pass->result->facts->func;
    SpilledTensor one = {.name = pass->result->facts->names[t],
                         .blocks = blocks,
                         .of = func->tensors[t].blocks,
                         .saves_run = pass->sums[t].saves_run,
                         .reloads_run = pass->sums[t].reloads_run,
                         .cycles = pass->sums[t].cycles,
                         .forced = {.point = find_forcing_point(pass, t)}};
    one.op = func->insts[one.forced.point].op;
    one.needed = (int64_t)pass->need[one.forced.point] * GRANULE;
    Span span = func->insts[one.forced.point].span;
    if (pass->source && span.end > span.begin)
        one.forced.line = source_line(pass->source, span.begin);
    return one;
}

void find_spilled_tensors(const Reported *result, const Live *live, const Occupancy *before,
                          Report *report, Arena *arena) {
    const Facts *facts = result->facts;
    SpilledPass pass = {.result = result, .live = live, .source = before->of->source};
    if (report->spilled_tensors == 0) return;
    arena_init(&pass.scratch);
    pass.need = needs_of_insts(before, &pass.scratch);
    find_moved(&pass);
    sum_inserted(&pass);
    gather_parts(&pass);
    const int64_t *blocks = count_spilled(result, &pass.scratch);
    report->spilled = RAW_ARRAY(arena, SpilledTensor, report->spilled_tensors);
    for (uint32_t t = 0; t < facts->func->ntensors; t++)
        if (blocks[t] > 0) report->spilled[report->nspilled++] = describe(&pass, t, blocks[t]);
    arena_free(&pass.scratch);
}
