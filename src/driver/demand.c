#include "driver/demand.h"

#include "analysis/interfere.h"
#include "analysis/pressure.h"
#include "analysis/partners.h"

/* Blocks that the access surely names. */
static int64_t blocks_named(const Func *func, uint32_t tensor, uint32_t point) {
    const Inst *inst = &func->insts[point];
    int64_t most = 0;
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        if (inst->operands[o].tensor != tensor) continue;
        BlockSpan span = operand_blocks(func, &inst->operands[o]);
        int64_t named = span.exact ? span.last - span.first + 1 : 1;
        if (named > most) most = named;
    }
    return most;
}

/* True if the instruction copies the tensor, and the other end may be the same place: one of the
 * two then counts for both. */
static bool is_shared(const Plan *plan, uint32_t tensor, uint32_t point) {
    const Inst *inst = &plan->func->insts[point];
    if (!copy_is_elidable(plan->func, inst)) return false;
    bool stays = !plan->spillable[inst_src(inst)->tensor];
    return tensor == (stays ? inst_dst(inst) : inst_src(inst))->tensor;
}

static Node demand_node(const Tensor *tensor, uint32_t id, uint32_t blocks, LiveRange range) {
    return (Node){.tensor = id,
                  .blocks = blocks,
                  .height = tensor_height(tensor),
                  .align = 1,
                  .class = shape_class(tensor->partitions, tensor->base),
                  .range = range};
}

uint32_t impossible_instruction(const Plan *plan, const Live *live, uint32_t size) {
    const Func *func = plan->func;
    Arena scratch;
    arena_init(&scratch);
    Nodes staying = renumber(func, live, NULL, &scratch);
    if (find_pressure(&staying, &scratch).peak <= size) { /* all fits at once everywhere */
        arena_free(&scratch);
        return UINT32_MAX;
    }
    Nodes nodes = {.npoints = func->ninsts};
    size_t most = (size_t)staying.count + plan->first[func->ntensors];
    nodes.items = RAW_ARRAY(&scratch, Node, most);
    Interval *points = RAW_ARRAY(&scratch, Interval, plan->first[func->ntensors]);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!plan->spillable[t]) {
            if (staying.of[t] != NO_NODE) nodes.items[nodes.count++] = staying.items[staying.of[t]];
            continue;
        }
        for (uint32_t a = plan->first[t]; a < plan->first[t + 1]; a++) {
            uint32_t point = plan->accesses[a].inst;
            if (point == ENTRY || is_shared(plan, t, point)) continue;
            points[a] = (Interval){point, point};
            int64_t blocks = blocks_named(func, t, point);
            nodes.items[nodes.count++] =
                demand_node(&func->tensors[t], t, (uint32_t)blocks, (LiveRange){&points[a], 1});
        }
    }
    Pressure pressure = find_pressure(&nodes, &scratch);
    uint32_t point = pressure.peak > size ? pressure.peak_point : UINT32_MAX;
    arena_free(&scratch);
    return point;
}
