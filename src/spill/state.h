/* State: what one strategy has decided so far, and the round that this has led to. */
#ifndef SPILL_STATE_H
#define SPILL_STATE_H

#include "spill/facts.h"
#include "spill/transfer.h"
#include "support/writer.h"

/* How hard places are looked for. */
typedef enum {
    PLACE_SELECT, /* simplify and select: the seed's */
    PLACE_EVICT,  /* other orders too, and nodes that are left out evict others */
    PLACE_EXACT   /* and an exact search, where no point is over capacity */
} PlaceEffort;

/* How a strategy goes about it; set once. */
typedef struct {
    const char *name;
    bool flat;         /* costs, ranges and select of the flat allocator */
    int metric;        /* of simplify, 0 to 2 */
    PlaceEffort place; /* how places are looked for */
    bool must_fit;     /* nothing is spilled: no places are looked for over capacity */
    uint32_t percent;  /* of the State Buffer that choices of gaps leave free */
    uint64_t joint_steps, exact_steps; /* of the joint search, and of the exact one */
    uint64_t scale;  /* of the steps of every search: 1, or 10, 100 ... with more effort */
    uint64_t length; /* of the steps of choices of gaps and of the joint search, by the length of
                        the function; at least 1 */
} Method;

/* What rounds have taught about capacity to leave free; only grows. See headroom.h. */
typedef struct {
    uint32_t *granules; /* [ninsts of the plan's function] to leave free at each point */
    uint32_t *stamp;    /* [ninsts] 1 + the last overloaded round in which the point was raised */
    uint32_t overloads; /* rounds that were over capacity somewhere */
    uint32_t failures;  /* how often placement has failed */
    bool spilling;      /* something has been cut: from then on copies are what fails */
} Headroom;

typedef struct {
    double analyse, colour, spill;
} PhaseSeconds;

typedef struct {
    const Facts *facts;
    Method method;
    Live live;    /* of facts->func, as the cost model sees it */
    Arena memory; /* of all that outlives a round; owned */
    /* Decided so far. */
    Plan plan; /* split points */
    Headroom headroom;
    bool hinted; /* nodes go where `hints` says */
    Transfer hints;
    bool *frozen; /* [ninsts] copies whose ends were found not to fit in one place */
    bool minimal; /* past the cap on reloads: each copy serves one access */
    /* What came of it. */
    Rewritten code;     /* the function with the plan carried out */
    Round now;          /* its analysis and places */
    Arena round_memory; /* of `now`; owned */
    uint32_t rounds;
    int64_t chosen; /* cycles of the code of the first round, where that is a choice of gaps */
    double score;   /* of the last round in which something found no place */
    double *cost;   /* [ntensors of the code] of the last round */
    Writer log;     /* the lines of -v; owned */
    PhaseSeconds seconds;
} State;

/* A state without cuts, for state_free(). O(accesses). */
State *state_make(const Facts *facts, Method method);
void state_free(State *state);

/* Rewrites the function with the plan as it is. Invalidates `now`. */
void rewrite_state(State *state);

/* Analyses the rewritten function: a new round, without places. */
void analyse_state(State *state);

/* The passes of place() that the method asks for. `spilled`: this is not the input as it came. */
Placer state_placer(const State *state, bool spilled);

/* Looks for places for the analysed round: true if all nodes have one. */
bool place_state(State *state);

/* The same by an exact search, whatever the method: where nothing is left to cut. Does nothing
 * where a point is over capacity. */
bool place_exactly(State *state);

/* The places of a round that has them all become those of the code, and its costs too. */
void commit_places(State *state);

/* What a state has decided, and the code and costs that came of it. */
typedef struct {
    PlanCuts cuts;
    Rewritten code;
    double *cost;
} Decision;

/* Keeps a decision in the state's memory while another one is tried, and goes back to it.
 * O(accesses). */
Decision state_decision(State *state);
void return_to_decision(State *state, const Decision *decision);

/* Cycles of all DMAs of the code. O(instructions). */
int64_t state_cycles(const State *state);

#endif
