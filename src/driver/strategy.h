/* The strategies: each way in which a function is allocated, and the table that says when it runs.
 */
#ifndef DRIVER_STRATEGY_H
#define DRIVER_STRATEGY_H

#include "driver/allocate.h"
#include "driver/floor.h"
#include "driver/options.h"
#include "spill/state.h"

/* What a strategy cuts before its first round, and after each that failed: see
 * residency/residency.h, joint/joint.h, chaitin.h, headroom.h and conflicts.h in spill/. START_BEST
 * is the joint search from the best result of the rows before it. */
typedef enum { START_UNCUT, START_CHOICE, START_JOINT, START_BEST, START_TIME } Start;
typedef enum { SPILL_NOTHING, SPILL_CHAITIN, SPILL_HEADROOM, SPILL_CONFLICTS } Spiller;

typedef struct Strategy {
    const char *name;
    Start start;
    Spiller spiller;
    PlaceEffort place;    /* how places are looked for where there are no hints; exact ones run
                             again above effort 2 */
    uint8_t effort;       /* the least effort at which it runs */
    uint32_t longest;     /* instructions of the longest function that it runs on */
    uint32_t fallback;    /* straight code longer than this: it runs only if no row before it has
                             found places */
    uint8_t percent;      /* of the State Buffer that its choices of gaps leave free */
    uint64_t joint_steps; /* of the joint search; ten times as many for each effort above 2 */
    bool flat;      /* costs, ranges and select of the flat allocator, whatever was asked for */
    uint8_t metric; /* added to the metric that was asked for, modulo 3 */
    bool few_cuts;  /* given up where the first choice cuts more than one gap in 32 */
    bool straight;  /* for straight code: where there are loops it runs only if no row before it has
                       found places */
} Strategy;

/* The table. */
StrategyTable all_strategies(void);

/* Those of its rows that find out quickly whether all fits. */
StrategyTable fit_strategies(void);

/* True if the search ends at the first result that costs nothing, or less than nothing. */
bool is_search_brief(const Facts *facts, const Options *options);

/* Runs the rows of the options' table that the effort and the function admit, in order, and keeps
 * the cheapest result, the first of equal ones; of those whose cycles are too many to count, where
 * there are no others, the one with the fewest DMAs in its text. Stops where one costs nothing, or
 * no more than the bound. Efforts above 2 run all rows that search once more with ten times the
 * steps, up to their own; effort 9 ends at the deadline. No row runs twice alike. Returns the state
 * in which everything has its place, which state_free() frees, or NULL. Tells of each row in `log`,
 * if lines of -v are wanted. Requires that the function is feasible. */
State *run_strategies(const Facts *facts, const Options *options, Floor *floor, Writer *log);

#endif
