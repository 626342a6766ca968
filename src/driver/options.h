/* What the user asked of the allocator. */
#ifndef DRIVER_OPTIONS_H
#define DRIVER_OPTIONS_H

#include "ir/ir.h"

typedef enum { ALLOCATOR_LOOP, ALLOCATOR_FLAT } AllocatorName;
typedef enum { EMIT_PLACED, EMIT_SPILLED, EMIT_PARSED, EMIT_GRAPH } Emit;

/* Strategies, in the order in which they run: see strategy.h. */
typedef struct {
    const struct Strategy *items;
    uint32_t count;
} StrategyTable;

/* A tensor that the user asks about. */
typedef struct {
    const Func *func; /* NULL: in all that have one of that name */
    Str tensor;       /* as the format means it: without sigil, quotes and escapes */
} Wish;

typedef struct {
    const Wish *items;
    uint32_t count;
} Wishes;

static inline bool wish_is_of(const Wish *wish, const Func *func) {
    return !wish->func || wish->func == func;
}

typedef struct {
    Emit emit;
    AllocatorName allocator;
    int metric; /* 0, 1 or 2 */
    int effort; /* 0 to 9 */
    uint64_t seed;
    uint64_t max_reloads;
    double time_limit; /* seconds */
    int dma_optlevel;
    bool coalesce, split, remat, reload_elim; /* optimisations, on by default */
    StrategyTable table;                      /* that may run; all by default */
    bool verify;                              /* check the result before it is written */
    bool verbose;                             /* gather the report lines */
    bool no_spill;                            /* fail where anything would have to leave */
    bool outcome_only;                        /* only whether it fits counts: no figures */
    bool brief;                               /* search for it in few steps */
    bool advise;                              /* tell what would make it fit where it does not */
    bool peaks;                               /* find the peaks for the report */
    Wishes explain;                           /* tensors to explain; requires peaks */
    Wishes headroom;                          /* tensors of which more blocks are wanted */
    bool explain_spilled;                     /* all that was spilled; requires peaks */
    const Source *source;                     /* the input's text, to tell lines; or NULL */
    const Module *previous;                   /* an earlier allocation to stay close to, or NULL */
} Options;

Options options_default(void);

#endif
