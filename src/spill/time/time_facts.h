/* Facts of time: what is known of a function laid out, before anything is decided. */
#ifndef SPILL_TIME_TIME_FACTS_H
#define SPILL_TIME_TIME_FACTS_H

#include "analysis/live.h"
#include "analysis/timeline.h"
#include "ir/target.h"

/* The operand of an access that stands for what an input holds on entry, at point 0. */
#define ENTRY_OPERAND UINT16_MAX

/* What one instruction does with one block at one point. */
typedef struct {
    uint32_t point;
    uint16_t operand; /* of the instruction: the first that names the block */
    bool reads;       /* needs the value before it: reads it, or writes a part of it */
    bool writes;
} CellAccess;

/* The blocks of sb tensors, numbered through. */
typedef struct {
    uint32_t *first_cell; /* [ntensors + 1] cells of tensor t: [first_cell[t], first_cell[t + 1]) */
    uint32_t ncells;
    uint32_t *tensor;     /* [ncells] */
    uint32_t *first;      /* [ncells + 1] accesses of a cell, in order of time */
    CellAccess *accesses; /* [first[ncells]] */
} Cells;

#define NO_SOURCE UINT32_MAX

/* No gap or store costs more: sums of millions fit in 64 bits. */
#define MOST_CYCLES (INT64_C(1) << 36)

/* The gap before an access that needs the value. Where it is kept, the block stays in its place;
 * where it is cut, the access is preceded by a reload. */
typedef struct {
    uint32_t access; /* of the cells */
    uint32_t cell;
    LiveRange points; /* where keeping it takes room */
    LiveRange tail;   /* where it does so too, but the gap round the back edge of a run, which is
                         mostly kept as well, takes it already */
    int64_t load;     /* cycles of the reload that cutting it costs, less a load that is then not
                         needed; at least 1 */
    uint32_t value;   /* the value that crosses it */
    uint32_t source;  /* the dram tensor where the value lies anyway, or NO_SOURCE */
    int64_t block;    /* its block there, in the first iteration that the access stands for */
    uint32_t since;   /* the point of the load or save that put it there */
    bool varies;      /* and its block is another one in each iteration */
    bool repeats;     /* cutting it makes the load just before it needless */
    bool apart;       /* it must be cut: what lies before it has another place (webs.h) */
} TimeGap;

/* All of them, and the values that cross them. */
typedef struct {
    TimeGap *gaps; /* [count] in order of cells, then of time */
    uint32_t count;
    uint32_t *of; /* [accesses] the gap before each, UINT32_MAX where no value crosses */
    uint32_t nvalues;
    int64_t *store;     /* [nvalues] cycles of all stores of a value */
    uint32_t *value_of; /* [accesses] the value that a write leaves, UINT32_MAX for reads */
    bool *resident;     /* [ntensors] sb, and must stay on chip: fixed, pinned, input or output */
    Region *moved;      /* [ntensors] the part of each block that reads need: DMAs move that */
} TimeGaps;

/* Gaps before one operand of one instruction, that begin at one instruction, whose blocks stand at
 * one position of the operand and whose values come from one tensor. */
typedef struct {
    uint32_t first, end; /* in Classes.members */
    uint32_t inst;
    uint16_t operand;
    int64_t position; /* in the blocks that the operand names at a time */
    uint32_t source;  /* a dram tensor, or NO_SOURCE */
} GapClass;

/* What is decided of one class has to read as a few conditions on the loops around it. */
typedef struct {
    GapClass *items; /* [count] by instruction, operand, position, source, beginning */
    uint32_t count;
    uint32_t *members; /* gaps, those of a class in order of time */
    uint32_t *of;      /* [gaps] class of each */
} Classes;

typedef struct {
    const Func *func;
    const Target *target;
    uint32_t size;    /* granules of the byte axis */
    const bool *dead; /* [ninsts] loads that are dropped whatever is decided: they access nothing;
                         NULL where there is none */
    Timeline timeline;
    bool keeps_loads;      /* none is dropped: inputs come in at the first instruction */
    Cells cells;           /* find_cells() */
    TimeGaps gaps;         /* find_gaps() */
    Classes classes;       /* find_classes() */
    const Affine *sources; /* [classes] find_source_forms() */
} TimeFacts;

/* How a function is laid out, and up to which size. */
typedef struct {
    uint32_t full, most_points; /* see lay_out() */
    uint32_t most_accesses;     /* and cells: see find_cells() */
    bool remat;                 /* values may come from loads and saves of the program */
    const bool *dead;           /* see TimeFacts */
    bool keeps_loads;           /* likewise */
    double deadline;            /* by clock_now(), when passes are left out; 0: never */
} TimeOptions;

/* Facts of a checked function without classes and sources. False where it is too large, never runs
 * an instruction, needs a value that nothing before has made, or is past its deadline before a pass
 * that takes long. O(points + accesses log accesses), as the passes say. */
bool find_cell_facts(const Func *func, const Target *target, TimeOptions options, Arena *arena,
                     TimeFacts *facts);

/* True if 32 bits hold sums of granules. */
bool sums_fit(const Target *target);

/* All facts; false too where sums do not fit. */
bool find_time_facts(const Func *func, const Target *target, TimeOptions options, Arena *arena,
                     TimeFacts *facts);

/* [gaps] true: all is kept. O(gaps). */
bool *all_gaps(const TimeFacts *facts, Arena *arena);

static inline bool is_dead(const TimeFacts *facts, uint32_t inst) {
    return facts->dead && facts->dead[inst];
}

/* The block of its tensor that a cell is. */
static inline int64_t cell_block(const Cells *cells, uint32_t cell) {
    return cell - cells->first_cell[cells->tensor[cell]];
}

#endif
