/* Places a MiniMalloc problem: pack_main FILE.csv CAPACITY [STEPS [SEED]]. For benchmarks. */
#include <stdio.h>
#include <stdlib.h>

#include "place/exact/pack.h"
#include "support/clock.h"

typedef struct {
    PackItem *items;
    size_t count, capacity;
} Items;

static bool read_items(const char *path, Arena *arena, Items *items) {
    FILE *file = fopen(path, "r");
    if (!file) return false;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        unsigned long id, lower, upper, size;
        if (sscanf(line, "%lu,%lu,%lu,%lu", &id, &lower, &upper, &size) != 4) continue;
        Interval *interval = NEW(arena, Interval);
        *interval = (Interval){(uint32_t)lower, (uint32_t)upper - 1};
        PackItem item = {
            .class = CLASS_FULL, .height = (uint32_t)size, .align = 1, .range = {interval, 1}};
        PUSH(arena, items->items, items->count, items->capacity, item);
    }
    fclose(file);
    return true;
}

/* Pairs that are in each other's way, and items outside. */
static uint32_t count_faults(const PackProblem *problem) {
    uint32_t faults = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const PackItem *a = &problem->items[i];
        faults += (uint64_t)a->offset + a->height > problem->size;
        for (uint32_t k = 0; k < i; k++) {
            const PackItem *b = &problem->items[k];
            bool time = a->range.items->first <= b->range.items->last &&
                        b->range.items->first <= a->range.items->last;
            faults +=
                time && a->offset < b->offset + b->height && b->offset < a->offset + a->height;
        }
    }
    return faults;
}

int main(int argc, char **argv) {
    static const char *const NAMES[] = {"found", "impossible", "gave up"};
    Arena arena;
    Items items = {0};
    arena_init(&arena);
    if (argc < 3 || !read_items(argv[1], &arena, &items)) {
        fputs("usage: pack FILE.csv CAPACITY [STEPS [SEED]]\n", stderr);
        return 2;
    }
    PackProblem problem = {items.items, (uint32_t)items.count, (uint32_t)atol(argv[2])};
    PackOptions options = {.steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 2000000000u,
                           .seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0};
    uint64_t used = 0;
    double begin = clock_now();
    PackStatus status = pack(&problem, options, &arena, &used);
    printf("%s: %s, %llu steps, %.3f s\n", argv[1], NAMES[status], (unsigned long long)used,
           clock_now() - begin);
    uint32_t faults = status == PACK_FOUND ? count_faults(&problem) : 0;
    if (faults) printf("%u faults\n", faults);
    arena_free(&arena);
    return faults != 0;
}
