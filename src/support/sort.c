#include "support/sort.h"

#include <stdbool.h>
#include <string.h>

enum { SHORT_RUN = 16 };

static bool before(SortKey a, SortKey b) {
    return a.key != b.key ? a.key < b.key : a.id < b.id;
}

static void insertion_sort(SortKey *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        SortKey moved = keys[i];
        size_t j = i;
        for (; j > 0 && before(moved, keys[j - 1]); j--)
            keys[j] = keys[j - 1];
        keys[j] = moved;
    }
}

/* Merges the sorted from[0..middle) and from[middle..count) into `to`. */
static void merge(const SortKey *from, size_t middle, size_t count, SortKey *to) {
    size_t left = 0, right = middle;
    for (size_t i = 0; i < count; i++) {
        bool take_right = left == middle || (right < count && before(from[right], from[left]));
        to[i] = from[take_right ? right++ : left++];
    }
}

void sort_keys(SortKey *keys, size_t count, Arena *scratch) {
    for (size_t i = 0; i < count; i += SHORT_RUN)
        insertion_sort(keys + i, count - i < SHORT_RUN ? count - i : SHORT_RUN);
    if (count <= SHORT_RUN) return;
    SortKey *from = keys, *to = RAW_ARRAY(scratch, SortKey, count);
    for (size_t width = SHORT_RUN; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = count - i < 2 * width ? count - i : 2 * width;
            merge(from + i, width < left ? width : left, left, to + i);
        }
        SortKey *spare = from;
        from = to;
        to = spare;
    }
    if (from != keys) memcpy(keys, from, count * sizeof *keys);
}
