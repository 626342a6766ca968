/* Facts: what is known of a function before anything is spilled. The context of the rounds, which
 * never changes; what does is the state. */
#ifndef SPILL_FACTS_H
#define SPILL_FACTS_H

#include "analysis/live.h"
#include "spill/plan.h"
#include "spill/remat.h"
#include "spill/round.h"

typedef struct {
    const Func *func; /* its webs split; what is allocated */
    const Target *target;
    uint32_t size;      /* whole granules of the byte axis */
    Live live;          /* of func */
    Plan plan;          /* accesses and loops of func; nothing is cut */
    Sources sources;    /* of values in DRAM */
    const Round *uncut; /* analysis of func by the loop model, without places */
    const bool *dead; /* [ninsts] loads that are dropped: what they bring nothing reads; NULL where
                         there is none */
    const Str *names; /* [ntensors] the input's name of each tensor */
    /* What the user asked for. */
    bool coalesce, remat, reload_elim, split;
    bool remat_reads;     /* the flat cost model prices rematerialisable reads once more */
    uint64_t max_reloads; /* past so many each copy serves one access */
    uint64_t seed;        /* of the searches */
    double deadline;      /* seconds of the monotonic clock, when searches end; 0: never */
    bool must_fit;        /* what spills something is of no use */
    bool brief;           /* searches in time take few steps */
    bool named;           /* copies get their names in each round, for the report */
} Facts;

/* Facts of a function whose ranges are `live`, with every optimisation on, no limit and no names;
 * the caller sets what was asked for. `search` holds `sources` and `uncut`, which are used as long
 * as places are looked for. O(accesses log accesses). */
Facts facts_make(const Func *func, const Live *live, const Target *target, Arena *arena,
                 Arena *search);

#endif
