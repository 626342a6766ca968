/* One context that never changes, the facts, and one state that a strategy changes. */
#ifndef DRIVER_STATE_H
#define DRIVER_STATE_H

#include "driver/carry.h"
#include "driver/headroom.h"
#include "support/writer.h"

/* How hard places are looked for. */
typedef enum {
    PLACE_SELECT, /* simplify and select: the seed's */
    PLACE_EVICT,  /* other orders too, and nodes that are left out evict others */
    PLACE_EXACT   /* and an exact search, where no point is over capacity */
} PlaceEffort;

/* What is known of a function before anything is spilled. Never changes. */
typedef struct {
    const Func *input; /* as it came */
    const Func *func;  /* its webs split; what is allocated */
    const Target *target;
    const Options *options;
    uint32_t size;   /* whole granules of the byte axis */
    Live live;       /* of func */
    Plan plan;       /* accesses and loops of func; nothing is cut */
    Sources sources; /* of values in DRAM */
    const Str *names; /* [ntensors] the input's name of each tensor */
    double deadline;  /* seconds of the monotonic clock, when searches end; 0: never */
} Facts;

typedef struct {
    double analyse, colour, spill;
} PhaseSeconds;

/* What a strategy has decided so far, and the round that this has led to. */
typedef struct {
    const Facts *facts;
    /* How the strategy goes about it. */
    const char *strategy;
    Options options;   /* those asked for, with the allocator and metric of the strategy */
    PlaceEffort place; /* how places are looked for */
    uint32_t percent;  /* of the State Buffer that the choice of gaps leaves free */
    uint64_t steps;    /* of the joint search */
    Live *live;        /* of facts->func, as the cost model sees it */
    /* What it has decided. */
    Arena memory; /* of all that outlives a round */
    Plan plan;    /* split points */
    bool *candidate; /* [ntensors] its gaps compete for room */
    Headroom headroom;
    Carry hints;    /* where nodes should go; none: `hinted` is false */
    bool hinted;
    bool *frozen;   /* [ninsts] copies whose ends were found not to fit in one place */
    bool minimal;   /* past the cap on reloads: each copy serves one access */
    /* What came of it. */
    Rewritten code; /* the function with the plan carried out */
    Round now;      /* its analysis and places, in round_memory */
    Arena round_memory;
    uint32_t rounds;
    double score; /* of the last round in which something found no place */
    double *cost; /* [ntensors of the code] of the last round */
    Writer log;   /* the lines of -v */
    PhaseSeconds seconds;
} State;

/* A state without cuts. Freed by state_free(). */
State *state_make(const Facts *facts, const char *strategy, Options options, PlaceEffort place);
void state_free(State *state);

/* True if the time for searches is over. */
bool is_late(const Facts *facts);

/* The function as it stands, as a rewrite that changed nothing; its arrays are copied so that
 * places and marks can be set. `live` are its ranges. */
Rewritten rewrite_nothing(const Func *func, const Live *live, Arena *arena);

/* Rewrites the function with the plan as it is. */
void rewrite_state(State *state);

/* Analyses the rewritten function: a new round, without places. */
void analyse_state(State *state);

/* Looks for places; true if all nodes have one. */
bool place_state(State *state);

/* The places of a round that has them all become those of the code. */
void commit_places(State *state);

#endif
