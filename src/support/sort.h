/* Sorting with a total order: every key ends in a number that no two elements share. */
#ifndef SUPPORT_SORT_H
#define SUPPORT_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"

typedef struct {
    uint64_t key;
    uint32_t id; /* breaks ties, so that the order is total */
} SortKey;

/* Sorts by key, then id, ascending. Merge sort, O(count log count), with a copy of the array in
 * `scratch`; insertion sort for short arrays, in place. */
void sort_keys(SortKey *keys, size_t count, Arena *scratch);

#endif
