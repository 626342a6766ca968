/* choose KIND SEED SIZE [STEPS [FILE]]: makes a problem of gaps, lets choose_gaps() solve it, and
 * prints its cost beside those of simpler methods. FILE receives the problem as a linear program
 * in CPLEX format; as an integer program it is the problem itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "spill/choose.h"
#include "test/gaps.h"

/* The name of the variable that keeps gap g in band b. */
static void print_variable(FILE *file, uint32_t g, int b) {
    fprintf(file, "x%" PRIu32 "_%d", g, b);
}

static void print_goal(FILE *file, const GapProblem *problem) {
    int64_t constant = 0;
    fprintf(file, "Minimize\n cost: 0 none");
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        constant += gap->load;
        for (int b = 0; b < class_bands((ShapeClass)gap->class).count; b++) {
            fprintf(file, "\n - %" PRId64 " ", gap->load);
            print_variable(file, g, b);
        }
    }
    for (uint32_t v = 0; v < problem->nvalues; v++)
        fprintf(file, "\n + %" PRId64 " y%" PRIu32, problem->store[v], v);
    fprintf(file, "\n + %" PRId64 " one\nSubject To\n one = 1\n none = 0\n", constant);
}

/* A gap stands in one band, its owner's; a value with a cut gap is stored. */
static void print_gap_rows(FILE *file, const GapProblem *problem) {
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        Bands bands = class_bands((ShapeClass)gap->class);
        for (int b = 0; b < bands.count; b++) {
            fprintf(file, " + ");
            print_variable(file, g, b);
        }
        fprintf(file, " <= 1\n");
        for (int b = 0; b < bands.count; b++) {
            fprintf(file, " + ");
            print_variable(file, g, b);
        }
        if (gap->value == UINT32_MAX)
            fprintf(file, " >= 0\n");
        else
            fprintf(file, " + y%" PRIu32 " >= 1\n", gap->value);
        for (int b = 0; bands.count > 1 && b < bands.count; b++) {
            print_variable(file, g, b);
            fprintf(file, " - z%" PRIu32 "_%d <= 0\n", gap->owner, b);
        }
        if (bands.count > 1 && (g == 0 || problem->gaps[g - 1].owner != gap->owner)) {
            for (int b = 0; b < bands.count; b++)
                fprintf(file, " + z%" PRIu32 "_%d", gap->owner, b);
            fprintf(file, " <= 1\n");
        }
    }
}

static bool passes(const Gap *gap, uint32_t point) {
    for (uint32_t i = 0; i < gap->points.count; i++)
        if (gap->points.items[i].first <= point && point <= gap->points.items[i].last) return true;
    return false;
}

/* One row for each point and quadrant where not everything fits. */
static void print_room_rows(FILE *file, const GapProblem *problem) {
    for (uint32_t p = 0; p < problem->npoints; p++)
        for (int q = 0; q < QUADRANTS; q++) {
            int64_t room = problem->size - (int64_t)problem->taken[(size_t)p * QUADRANTS + q];
            bool any = false;
            for (uint32_t g = 0; g < problem->count; g++) {
                const Gap *gap = &problem->gaps[g];
                Bands bands = class_bands((ShapeClass)gap->class);
                for (int b = 0; b < bands.count; b++) {
                    if (!(bands.masks[b] >> q & 1) || !passes(gap, p)) continue;
                    fprintf(file, " + %" PRIu32 " ", gap->height);
                    print_variable(file, g, b);
                    any = true;
                }
            }
            if (any) fprintf(file, " <= %" PRId64 "\n", room > 0 ? room : 0);
            if (gaps_are_full(problem)) break;
        }
}

static void print_integers(FILE *file, const GapProblem *problem) {
    fprintf(file, "Binary\n");
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        int bands = class_bands((ShapeClass)gap->class).count;
        for (int b = 0; b < bands; b++) {
            print_variable(file, g, b);
            fprintf(file, "\n");
        }
        if (bands > 1 && (g == 0 || problem->gaps[g - 1].owner != gap->owner))
            for (int b = 0; b < bands; b++)
                fprintf(file, "z%" PRIu32 "_%d\n", gap->owner, b);
    }
    for (uint32_t v = 0; v < problem->nvalues; v++)
        fprintf(file, "y%" PRIu32 "\n", v);
    fprintf(file, "End\n");
}

static int write_program(const char *path, const GapProblem *problem) {
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    print_goal(file, problem);
    print_gap_rows(file, problem);
    print_room_rows(file, problem);
    print_integers(file, problem);
    bool bad = ferror(file) != 0;
    return fclose(file) != 0 || bad;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: choose KIND SEED SIZE [STEPS [FILE]]\n");
        return 2;
    }
    int kind = gaps_kind(argv[1]);
    if (kind < 0) {
        fprintf(stderr, "choose: no kind '%s'\n", argv[1]);
        return 2;
    }
    uint64_t seed = strtoull(argv[2], NULL, 10), size = strtoull(argv[3], NULL, 10);
    uint64_t steps = argc > 4 ? strtoull(argv[4], NULL, 10) : 100000000;
    Arena arena, scratch;
    arena_init(&arena);
    arena_init(&scratch);
    GapProblem problem = gaps_make((GapsKind)kind, seed, (uint32_t)size, &arena);
    if (argc > 5 && write_program(argv[5], &problem)) {
        perror(argv[5]);
        return 1;
    }
    bool simple = problem.count <= 5000;
    int64_t farthest = simple ? gaps_farthest(&problem, &arena) : 0;
    int64_t whole = simple ? gaps_whole(&problem, &arena) : 0;
    clock_t start = clock();
    int64_t cost = choose_gaps(&problem, steps, &scratch);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    const char *fault = simple ? gaps_fault(&problem, cost, &arena) : NULL;
    printf("gaps %" PRIu32 " points %" PRIu32 " cost %" PRId64 " farthest %" PRId64
           " whole %" PRId64 " seconds %.3f%s%s\n",
           problem.count, problem.npoints, cost, farthest, whole, seconds, fault ? " FAULT " : "",
           fault ? fault : "");
    arena_free(&arena);
    arena_free(&scratch);
    return fault != NULL;
}
