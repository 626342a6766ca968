/* One allocation under way: what its parts in this layer share. */
#ifndef DRIVER_JOB_H
#define DRIVER_JOB_H

#include "driver/allocate.h"
#include "driver/keep.h"
#include "driver/relieve.h"
#include "spill/rewrite.h"
#include "support/writer.h"

/* Everything one allocation works on. */
typedef struct Job {
    const Func *input;
    const Func *func; /* the input with its webs apart; what is allocated */
    const Target *target;
    const Options *options;
    Arena *arena; /* of the function */
    DiagQueue *diags;
    Str *names;    /* [ntensors] the input's name of each tensor */
    uint32_t size; /* granules of the byte axis */
    bool *apart;   /* [ninsts] copies whose ends were found not to fit in one place */
    Plan plan;
    Sources sources;
    Live ranges; /* of func, as the allocator takes them */
    Relief relief;
    Rewritten current; /* the function with the plan carried out */
    Earlier earlier;   /* what to stay close to */
    KeepCount kept;    /* of its places */
    bool settled;      /* it was placed around them from the start */
    Writer log;
    double started; /* seconds of the monotonic clock */
    bool minimal;   /* too many reloads: every copy serves one access from now on */
    Allocation result;
} Job;

/* Granules of the byte axis, the last one counted though it may not be whole: a fixed tensor may
 * touch it. */
uint32_t touched_size(const Job *job);

/* Carries out the plan: job->current is the function with its spill code, or the function as it is.
 */
void rewrite_current(Job *job);

/* The function as it stands, as a rewrite that changed nothing; its arrays are copied so that
 * places and marks can be set. `live` are its ranges. */
Rewritten rewrite_nothing(const Func *func, const Live *live, Arena *arena);

/* True if the plan cuts anything. */
bool any_spilled(const Plan *plan);

/* Writes a placed round's places and costs into the current function; from effort 1 on takes back
 * cuts that have room after all. */
void take_places(Job *job, const Round *round);
void set_places(Job *job, const Round *round);

/* The lines of -v, and the figures of --stats: of one round, and of the result. */
void report_begin(Job *job);
void report_round(Job *job, const Round *round);
void report_result(Job *job);

#endif
