/* Bounds without allocations: `bound [-s STEPS] [-r REACHED] FILE` prints a line for each function,
 * `@NAME bound CYCLES rows N items N lanes N`. The exit code is 2 after errors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bound/bound.h"
#include "text/check.h"
#include "text/parse.h"

static void print_bound(const Func *func, const Target *target, BoundSearch search) {
    Arena arena;
    arena_init(&arena);
    Bound bound = find_bound(func, target, search, &arena);
    printf("@%.*s bound ", (int)func->name.length, func->name.text);
    if (bound.known)
        printf("%" PRId64 " rows %u items %u lanes %u\n", bound.cycles, bound.problem.nrows,
               bound.problem.nitems, bound.problem.lanes);
    else
        printf("unknown\n");
    arena_free(&arena);
}

int main(int argc, char **argv) {
    BoundSearch search = {INT64_MAX, BOUND_STEPS};
    for (int option; (option = getopt(argc, argv, "s:r:")) != -1;) {
        if (option == 's') search.steps = strtoull(optarg, NULL, 10);
        if (option == 'r') search.reached = strtoll(optarg, NULL, 10);
    }
    Arena arena;
    arena_init(&arena);
    Source source;
    Module module = {0};
    DiagQueue diags;
    diag_init(&diags, &arena);
    bool good = source_read(&source, &arena, argv[optind]) == SOURCE_READ &&
                parse_lf(&source, &arena, &diags, &module) && check_module(&module, &diags);
    for (uint32_t f = 0; good && f < module.nfuncs; f++)
        print_bound(&module.funcs[f], &module.target, search);
    arena_free(&arena);
    return good ? 0 : 2;
}
