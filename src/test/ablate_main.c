/* Allocates programs with parts of the allocator left out:
 *
 *     ablate [--effort=N] [--only=ROW | --without=ROW] [--leave=STAGE] FILE...
 *     ablate --rows
 *     ablate --stages
 *
 * --rows prints the rows that can run alone; those that begin with the best result of others are
 * the stage `improve`.
 *
 * One line for each function: the file, the function, the row that was left out or alone, cycles of
 * the spill code (`-` where no row found places), seconds of the processor, and 1 where a row that
 * is alone is one that the whole table runs only if no row before it has found places. Where no row
 * is left (--only=everywhere) the cycles are those of the last resort. scripts/ablate makes a table
 * of the lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/strategy.h"
#include "text/check.h"
#include "text/parse.h"

typedef enum {
    STAGE_COALESCE,
    STAGE_SPLIT,
    STAGE_REMAT,
    STAGE_RELOADS,
    STAGE_EXACT,
    STAGE_EVICT,
    STAGE_IMPROVE,
    STAGE_COUNT
} Stage;

static const char *const STAGES[STAGE_COUNT] = {"coalesce", "split", "remat",  "reload-elim",
                                                "exact",    "evict", "improve"};

typedef struct {
    Options options;
    const char *only, *without; /* names of rows, or NULL */
    PlaceEffort hardest;        /* how hard rows look for places at most */
    bool no_improve;            /* rows that begin with the best result of others do not run */
} Request;

static bool leave_out(Request *request, const char *name) {
    bool *const optimisations[] = {&request->options.coalesce, &request->options.split,
                                   &request->options.remat, &request->options.reload_elim};
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        if (strcmp(name, STAGES[stage]) != 0) continue;
        if (stage < STAGE_EXACT)
            *optimisations[stage] = false;
        else if (stage == STAGE_IMPROVE)
            request->no_improve = true;
        else
            request->hardest = stage == STAGE_EXACT ? PLACE_EVICT : PLACE_SELECT;
        return true;
    }
    fprintf(stderr, "ablate: no such stage: '%s'\n", name);
    return false;
}

/* The rows that the request keeps. */
static StrategyTable rows_of(const Request *request, Strategy *rows) {
    StrategyTable all = all_strategies(), kept = {rows, 0};
    for (uint32_t i = 0; i < all.count; i++) {
        const char *name = all.items[i].name;
        if (request->only && strcmp(name, request->only) != 0) continue;
        if (request->without && strcmp(name, request->without) == 0) continue;
        if (request->no_improve && all.items[i].start == START_BEST) continue;
        Strategy *row = &rows[kept.count++];
        *row = all.items[i];
        if (row->place > request->hardest) row->place = request->hardest;
    }
    return kept;
}

static bool is_fallback(const Func *func, StrategyTable table) {
    return table.count == 1 && func->nloops == 0 && func->ninsts > table.items[0].fallback;
}

static void run_function(const char *path, const Module *module, uint32_t f,
                         const Request *request) {
    enum { MOST = 64 };
    Strategy rows[MOST];
    Options options = request->options;
    options.table = rows_of(request, rows);
    const Func *func = &module->funcs[f];
    Arena arena;
    arena_init(&arena);
    DiagQueue diags;
    diag_init(&diags, &arena);
    clock_t begin = clock();
    Allocation result = allocate(func, &module->target, &options, &arena, &diags);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    bool found =
        result.status == ALLOCATED && (!result.report.last_resort || options.table.count == 0);
    const char *name = request->only ? request->only : request->without ? request->without : "";
    printf("%s\t%.*s\t%s\t", path, (int)func->name.length, func->name.text, name);
    if (found)
        printf("%lld", (long long)result.report.spill_cycles);
    else
        printf("-");
    printf("\t%.3f\t%d\n", seconds, is_fallback(func, options.table));
    fflush(stdout);
    arena_free(&arena);
}

static bool run_file(const char *path, const Request *request) {
    Arena arena;
    arena_init(&arena);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Source source;
    Module module;
    bool good = source_read(&source, &arena, path) == SOURCE_READ &&
                parse_lf(&source, &arena, &diags, &module) && check_module(&module, &diags);
    if (!good) fprintf(stderr, "ablate: cannot read '%s'\n", path);
    for (uint32_t f = 0; good && f < module.nfuncs; f++)
        run_function(path, &module, f, request);
    arena_free(&arena);
    return good;
}

static int print_stages(void) {
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        printf("%s\n", STAGES[stage]);
    return 0;
}

static int print_rows(void) {
    StrategyTable all = all_strategies();
    for (uint32_t i = 0; i < all.count; i++)
        if (all.items[i].start != START_BEST) printf("%s\n", all.items[i].name);
    return 0;
}

static const char *value_of(const char *argument, const char *key) {
    size_t length = strlen(key);
    return strncmp(argument, key, length) == 0 ? argument + length : NULL;
}

int main(int argc, char **argv) {
    Request request = {.options = options_default(), .hardest = PLACE_EXACT};
    request.options.verify = false; /* its time is no row's */
    int status = 0;
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "--rows") == 0) return print_rows();
        if (strcmp(argv[i], "--stages") == 0) return print_stages();
        if ((value = value_of(argv[i], "--only="))) {
            request.only = value;
        } else if ((value = value_of(argv[i], "--without="))) {
            request.without = value;
        } else if ((value = value_of(argv[i], "--leave="))) {
            if (!leave_out(&request, value)) return 2;
        } else if ((value = value_of(argv[i], "--effort="))) {
            request.options.effort = atoi(value);
        } else if (!run_file(argv[i], &request)) {
            status = 2;
        }
    }
    return status;
}
