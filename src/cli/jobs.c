#include "cli/jobs.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cli/input.h"
#include "support/clock.h"

typedef struct {
    const Module *module;
    const Options *options;
    FuncJob *jobs;
    Progress *progress;
    atomic_uint next; /* the first function that nobody has taken */
} Shared;

static void run_job(const Shared *shared, FuncJob *job) {
    double start = clock_now();
    job->result =
        allocate(job->func, &shared->module->target, shared->options, &job->arena, &job->diags);
    job->seconds = clock_now() - start;
}

static void *work(void *argument) {
    Shared *shared = argument;
    for (;;) {
        unsigned taken = atomic_fetch_add(&shared->next, 1);
        if (taken >= shared->module->nfuncs) return NULL;
        run_job(shared, &shared->jobs[taken]);
        progress_step(shared->progress);
    }
}

/* This thread works too; where others cannot be had it works alone. */
static void work_together(Shared *shared, uint32_t threads, Arena *arena) {
    pthread_t *others = NEW_ARRAY(arena, pthread_t, threads);
    uint32_t started = 0;
    while (started + 1 < threads && pthread_create(&others[started], NULL, work, shared) == 0)
        started++;
    work(shared);
    while (started > 0)
        pthread_join(others[--started], NULL);
}

FuncJob *jobs_run(const Module *module, const Options *options, int threads, Progress *progress,
                  Arena *arena) {
    Shared shared = {.module = module, .options = options, .progress = progress};
    shared.jobs = NEW_ARRAY(arena, FuncJob, module->nfuncs);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        FuncJob *job = &shared.jobs[i];
        job->func = &module->funcs[i];
        arena_init(&job->arena);
        diag_init(&job->diags, &job->arena);
    }
    atomic_init(&shared.next, 0);
    uint32_t useful = (uint32_t)threads < module->nfuncs ? (uint32_t)threads : module->nfuncs;
    work_together(&shared, useful, arena);
    return shared.jobs;
}

void jobs_free(FuncJob *jobs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        arena_free(&jobs[i].arena);
}
