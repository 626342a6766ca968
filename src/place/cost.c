#include "place/cost.h"

#include <float.h>
#include <math.h>

#include "support/checked.h"

typedef struct {
    const Func *func;
    const Target *target;
    Accesses accesses;
    double *trips;      /* [nloops] runs of a loop's body */
    bool *dram_written; /* [ntensors] some instruction writes that dram tensor */
} Pricer;

static double *count_trips(const Func *func, Arena *scratch) {
    double *trips = RAW_ARRAY(scratch, double, func->nloops);
    for (uint32_t l = 0; l < func->nloops; l++) {
        const Loop *loop = &func->loops[l];
        double own = (double)loop->high - (double)loop->low;
        trips[l] = own * (loop->parent == NO_LOOP ? 1 : trips[loop->parent]);
        if (trips[l] > 1e300) trips[l] = 1e300; /* beyond any use, short of overflow */
    }
    return trips;
}

static bool *find_written(const Func *func, Arena *scratch) {
    bool *written = NEW_ARRAY(scratch, bool, func->ntensors);
    for (uint32_t i = 0; i < func->ninsts; i++)
        for (uint32_t o = 0; o < func->insts[i].ndst; o++)
            written[func->insts[i].operands[o].tensor] = true;
    return written;
}

static double blocks_of(const Func *func, const Operand *operand) {
    BlockSpan span = operand_blocks(func, operand);
    if (span.first > span.last) return 0;
    if (span.exact) return (double)(span.last - span.first + 1);
    return operand->blocks->kind == BLOCKS_ONE ? 1 : (double)(span.last - span.first + 1);
}

/* True if all that is ever written to the tensor comes by plain loads from DRAM that stays as it
 * is. */
static bool is_clean(const Pricer *pricer, uint32_t tensor) {
    const Func *func = pricer->func;
    if (func->tensors[tensor].input) return false;
    for (uint32_t a = pricer->accesses.first[tensor]; a < pricer->accesses.first[tensor + 1]; a++) {
        Access access = pricer->accesses.items[a];
        if (!access_writes(func, access)) continue;
        const Inst *inst = &func->insts[access.inst];
        if (inst->kind != OP_LOAD || inst->accumulate || inst->condition ||
            inst->operands[access.operand].region || pricer->dram_written[inst_src(inst)->tensor])
            return false;
    }
    return true;
}

static double price(const Pricer *pricer, uint32_t tensor, bool *read) {
    const Func *func = pricer->func;
    const Tensor *info = &func->tensors[tensor];
    double dma = (double)latency_dram(pricer->target, info->partitions, info->bytes);
    bool clean = is_clean(pricer, tensor);
    double sum = 0;
    uint32_t before = UINT32_MAX, loop_before = NO_LOOP;
    if (info->input) sum += dma * (double)info->blocks;
    for (uint32_t a = pricer->accesses.first[tensor]; a < pricer->accesses.first[tensor + 1]; a++) {
        Access access = pricer->accesses.items[a];
        const Inst *inst = &func->insts[access.inst];
        double trips = inst->loop == NO_LOOP ? 1 : pricer->trips[inst->loop];
        double one = dma * trips * blocks_of(func, &inst->operands[access.operand]);
        bool served =
            before != UINT32_MAX && loop_before == inst->loop && access.inst - before <= 1;
        if (access_reads(func, access)) {
            *read = true;
            if (!served) sum += one;
        }
        if (access_writes(func, access) && !clean) sum += one;
        before = access.inst;
        loop_before = inst->loop;
    }
    return sum;
}

static bool is_short(LiveRange range) {
    return range.count == 1 && range.items[0].last - range.items[0].first <= 1;
}

static double price_flat(const Pricer *pricer, uint32_t tensor, bool remat_reads, bool *read) {
    const Func *func = pricer->func;
    const Tensor *info = &func->tensors[tensor];
    int64_t bytes = saturating_mul(info->bytes, info->blocks);
    double dma = (double)latency_dram(pricer->target, info->partitions, bytes);
    double access = (double)latency_sb(pricer->target, bytes), sum = 0;
    bool loaded = !info->input;
    double reads = 0;
    for (uint32_t a = pricer->accesses.first[tensor]; a < pricer->accesses.first[tensor + 1]; a++) {
        const Inst *inst = &func->insts[pricer->accesses.items[a].inst];
        if (access_reads(func, pricer->accesses.items[a])) {
            sum += inst->loop == NO_LOOP ? access : dma;
            reads++;
        }
        if (access_writes(func, pricer->accesses.items[a])) {
            sum += access;
            loaded &= inst->kind == OP_LOAD;
        }
    }
    *read = reads > 0;
    if (loaded) sum = access;
    if (remat_reads && is_clean(pricer, tensor)) sum += access * reads;
    return sum;
}

static Pricer make_pricer(const Func *func, const Target *target, Arena *scratch) {
    return (Pricer){.func = func,
                    .target = target,
                    .accesses = find_accesses(func, scratch),
                    .trips = count_trips(func, scratch),
                    .dram_written = find_written(func, scratch)};
}

static bool must_not_spill(const Func *func, const Node *node, const bool *minimal) {
    const Tensor *tensor = &func->tensors[node->tensor];
    return tensor_stays(tensor) || (minimal && minimal[node->tensor]) || is_short(node->range);
}

static double finite(double cost) {
    return cost < DBL_MAX / 2 ? cost : DBL_MAX / 2;
}

void find_costs(const Func *func, Nodes *nodes, CostModel model, const bool *minimal,
                Arena *scratch) {
    Pricer pricer = make_pricer(func, model.target, scratch);
    for (uint32_t n = 0; n < nodes->count; n++) {
        Node *node = &nodes->items[n];
        node->cost = INFINITY;
        if (must_not_spill(func, node, minimal)) continue;
        bool read = false;
        double cost = model.flat ? price_flat(&pricer, node->tensor, model.remat_reads, &read)
                                 : price(&pricer, node->tensor, &read);
        if (read) node->cost = finite(cost);
    }
}
