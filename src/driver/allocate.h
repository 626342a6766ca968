/* Allocates one function, from check to verified result. */
#ifndef DRIVER_ALLOCATE_H
#define DRIVER_ALLOCATE_H

#include "analysis/live.h"
#include "bound/bound.h"
#include "driver/options.h"
#include "driver/peak.h"
#include "support/diag.h"

/* Of the monotonic clock; attempts that were not chosen count too. */
typedef struct {
    double parse, analyse, colour, spill, verify, write, total;
} Seconds;

/* A tensor of which something was spilled. */
typedef struct {
    uint32_t tensor;                /* of the function that was allocated */
    Str name;                       /* in the input */
    int64_t blocks, of;             /* how many leave, out of how many */
    int64_t saves_run, reloads_run; /* as often as they run */
    int64_t cycles;                 /* of these */
    int64_t loads_gone; /* cycles that loads of the input take no more, as they are gone or
                           run less often */
    Moment forced;      /* a point of the input: where most would be needed with it on chip */
    Str op;             /* of the instruction there */
    int64_t needed;     /* bytes per partition there */
    bool priced;        /* what follows is known: see find_next_best() */
    int64_t here;       /* cycles of leaving there */
    Str next;           /* the next best choice; empty: no other tensor could have left there */
    int64_t next_blocks, next_of; /* how many of its blocks, out of how many */
    int64_t next_cycles;
} SpilledTensor;

/* Figures of one allocation: the keys of `--stats`, in their order. */
typedef struct {
    uint32_t instructions; /* of the input */
    uint32_t tensors;      /* nodes before anything is spilled */
    uint64_t edges;        /* of their interference graph */
    uint32_t max_degree;
    uint32_t iterations; /* rounds */
    uint32_t spilled_tensors;
    int64_t spilled_bytes_per_partition;
    uint32_t saves, reloads;         /* DMAs inserted, each counted once */
    int64_t saves_run, reloads_run;  /* each as often as it runs: conditions are evaluated */
    uint32_t spilled_reads;          /* reads of what was spilled */
    uint32_t reloads_removed;        /* how many of them share a reload or need none */
    int64_t spill_cycles, dma_bytes; /* output's DMAs less the input's, each as often as it runs */
    bool bounded;                    /* there is a bound */
    int64_t bound_cycles;            /* no allocation has less spill_cycles */
    int64_t high_water_before, high_water, usable_bytes; /* bytes per partition */
    int64_t dram_spill_bytes;
    double score; /* the seed's, of the last round in which something found no place, DBL_MAX if it
                     is infinite; 0: none */
    uint32_t coalesced, split;
    bool last_resort;
    const char *strategy; /* that won: its name in the table; `stable` where earlier places fit,
                             `previous` where its spill code does, `everywhere` for the last resort,
                             `given` for what came placed */
    int64_t loads_gone;   /* of all tensors, where peaks were looked for: spill_cycles are those of
                             all that were spilled, less these */
    SpilledTensor *spilled; /* [nspilled] likewise */
    uint32_t nspilled;
    const Peak *peak_before; /* before anything is spilled, NULL where it was not looked for; where
                                nothing was spilled, that of the result */
    const Peak *peak_after;  /* of the result; NULL likewise, and where it has no places */
    Seconds seconds;
} Report;

/* True if no allocation is cheaper. */
static inline bool report_is_proved(const Report *report) {
    return report->bounded && report->spill_cycles <= report->bound_cycles;
}

typedef enum {
    ALLOCATED = 0,
    NOT_ALLOCATED = 1, /* it does not fit, or time ran out */
    WRONG_INPUT = 2,   /* fixed tensors that overlap while live, or an index that strays */
    WRONG_RESULT = 3   /* the result failed its own check: a fault of sballoc */
} AllocStatus;

typedef struct {
    AllocStatus status;
    const Func *func; /* what is to be written: placed, or rewritten for --emit=spilled */
    Report report;
    Live live;          /* of func */
    const double *cost; /* [ntensors of func] of its last round; INFINITY: must not be spilled */
    const Func *input;  /* what func was made from, its independent values apart */
    Live input_live;    /* of input */
    const uint32_t *origin_inst; /* [ninsts of func] instruction of input, or INSERTED */
    Bound bound;                 /* prices that prove bound_cycles; none where that is plain */
    Str log;                     /* the lines of -v */
    Str explanation;             /* of --explain and --headroom */
    const bool *explained; /* [options->explain.count] what the function has; NULL: not looked */
} Allocation;

/* The page that the whole allocator is read from: see allocate.c. Requires a checked function.
 * Everything returned lives in `arena`; diagnostics go to `diags`. */
Allocation allocate(const Func *func, const Target *target, const Options *options, Arena *arena,
                    DiagQueue *diags);

#endif
