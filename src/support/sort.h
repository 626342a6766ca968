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

/* Sorts by key, then id, ascending. Insertion sort for short arrays, in place; else with a copy of
 * the array in `scratch`: radix sort where the ids ascend and the keys are small, merge sort where
 * they do not, O(count log count) both. */
void sort_keys(SortKey *keys, size_t count, Arena *scratch);

/* Puts order[count] into the order of rows of `nkeys` numbers, of which the last counts most: rows
 * that are equal stay as they were. O(nkeys * count log count). */
void sort_rows(const uint64_t *rows, uint32_t nkeys, uint32_t *order, uint32_t count,
               Arena *scratch);

#endif
