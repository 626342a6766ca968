#include "analysis/opaque.h"

/* The points that each point brings with it. */
typedef struct {
    const Func *func;
    uint32_t *outermost; /* [ninsts] the outermost loop around, or NO_LOOP */
    Arena *arena;
} Opaque;

static LiveRange cover(const Opaque *opaque, LiveRange range) {
    Interval *items = RAW_ARRAY(opaque->arena, Interval, range.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        Interval wide = range.items[i];
        uint32_t first = opaque->outermost[wide.first], last = opaque->outermost[wide.last];
        if (first != NO_LOOP) wide.first = opaque->func->loops[first].first;
        if (last != NO_LOOP) wide.last = opaque->func->loops[last].end - 1;
        if (count > 0 && wide.first <= items[count - 1].last + 1) {
            if (wide.last > items[count - 1].last) items[count - 1].last = wide.last;
        } else {
            items[count++] = wide;
        }
    }
    return (LiveRange){items, count};
}

static uint32_t *find_outermost(const Func *func, Arena *arena) {
    uint32_t *of_loop = RAW_ARRAY(arena, uint32_t, func->nloops);
    for (uint32_t l = 0; l < func->nloops; l++)
        of_loop[l] = func->loops[l].parent == NO_LOOP ? l : of_loop[func->loops[l].parent];
    uint32_t *of_inst = RAW_ARRAY(arena, uint32_t, func->ninsts);
    for (uint32_t p = 0; p < func->ninsts; p++)
        of_inst[p] = func->insts[p].loop == NO_LOOP ? NO_LOOP : of_loop[func->insts[p].loop];
    return of_inst;
}

void make_loops_opaque(const Func *func, const bool *exempt, Live *live, Arena *arena) {
    Opaque opaque = {func, find_outermost(func, arena), arena};
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (exempt && exempt[t]) continue;
        live->whole[t] = cover(&opaque, live->whole[t]);
        for (int64_t b = 0; live->blocks[t] && b < func->tensors[t].blocks; b++)
            live->blocks[t][b] = cover(&opaque, live->blocks[t][b]);
    }
}
