/* Allocates programs with parts of the table of strategies:
 *
 *     ablate [--effort=N] [--only=ROW | --without=ROW] FILE...
 *     ablate --rows
 *
 * One line for each file and row of the table: the file, the row that was left out or alone, cycles
 * of the spill code (`-` where none was found), seconds of the
 * processor. scripts/ablate makes a table of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/strategy.h"
#include "text/check.h"
#include "text/parse.h"

typedef struct {
    Options options;
    const char *only, *without; /* names of rows, or NULL */
} Request;

/* The rows that the request keeps. */
static StrategyTable rows_of(const Request *request, Strategy *rows) {
    StrategyTable all = all_strategies(), kept = {rows, 0};
    for (uint32_t i = 0; i < all.count; i++) {
        const char *name = all.items[i].name;
        if (request->only && strcmp(name, request->only) != 0) continue;
        if (request->without && strcmp(name, request->without) == 0) continue;
        rows[kept.count++] = all.items[i];
    }
    return kept;
}

/* Cycles of all functions together; -1 where one was not allocated by a row of the table. */
static int64_t allocate_all(const Module *module, const Request *request, Arena *arena) {
    enum { MOST = 64 };
    Strategy rows[MOST];
    StrategyTable table = rows_of(request, rows);
    int64_t cycles = 0;
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        DiagQueue diags;
        diag_init(&diags, arena);
        Allocation result = allocate_with(table, &module->funcs[f], &module->target,
                                          &request->options, arena, &diags);
        if (result.status != ALLOCATED || result.report.last_resort) return -1;
        cycles += result.report.spill_cycles;
    }
    return cycles;
}

static bool run_file(const char *path, const Request *request) {
    Arena arena;
    arena_init(&arena);
    DiagQueue diags;
    diag_init(&diags, &arena);
    Source source;
    Module module;
    if (source_read(&source, &arena, path) != SOURCE_READ ||
        !parse_lf(&source, &arena, &diags, &module) || !check_module(&module, &diags)) {
        fprintf(stderr, "ablate: cannot read '%s'\n", path);
        arena_free(&arena);
        return false;
    }
    clock_t begin = clock();
    int64_t cycles = allocate_all(&module, request, &arena);
    const char *name = request->only ? request->only : request->without ? request->without : "";
    printf("%s\t%s\t", path, name);
    if (cycles < 0)
        printf("-");
    else
        printf("%lld", (long long)cycles);
    printf("\t%.3f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    fflush(stdout);
    arena_free(&arena);
    return true;
}

static int print_rows(void) {
    StrategyTable all = all_strategies();
    for (uint32_t i = 0; i < all.count; i++)
        printf("%s\n", all.items[i].name);
    return 0;
}

static const char *value_of(const char *argument, const char *key) {
    size_t length = strlen(key);
    return strncmp(argument, key, length) == 0 ? argument + length : NULL;
}

int main(int argc, char **argv) {
    Request request = {.options = options_default()};
    int status = 0;
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "--rows") == 0) return print_rows();
        if ((value = value_of(argv[i], "--only="))) {
            request.only = value;
        } else if ((value = value_of(argv[i], "--without="))) {
            request.without = value;
        } else if ((value = value_of(argv[i], "--effort="))) {
            request.options.effort = atoi(value);
        } else if (!run_file(argv[i], &request)) {
            status = 2;
        }
    }
    return status;
}
