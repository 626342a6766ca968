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

static void merge_sort(SortKey *keys, size_t count, SortKey *spare) {
    for (size_t i = 0; i < count; i += SHORT_RUN)
        insertion_sort(keys + i, count - i < SHORT_RUN ? count - i : SHORT_RUN);
    SortKey *from = keys, *to = spare;
    for (size_t width = SHORT_RUN; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = count - i < 2 * width ? count - i : 2 * width;
            merge(from + i, width < left ? width : left, left, to + i);
        }
        SortKey *other = from;
        from = to;
        to = other;
    }
    if (from != keys) memcpy(keys, from, count * sizeof *keys);
}

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

static uint32_t digit_of(SortKey key, unsigned shift) {
    return key.key >> shift & (DIGITS - 1);
}

/* Sorts by one digit; equal ones keep their order. */
static void sort_by_digit(const SortKey *from, size_t count, unsigned shift, SortKey *to) {
    size_t next[DIGITS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        next[digit_of(from[i], shift) + 1]++;
    for (size_t digit = 1; digit < DIGITS; digit++)
        next[digit] += next[digit - 1];
    for (size_t i = 0; i < count; i++)
        to[next[digit_of(from[i], shift)]++] = from[i];
}

/* Keys that came by ascending ids: by their digits from the lowest up, `bits` in all. */
static void radix_sort(SortKey *keys, size_t count, unsigned bits, SortKey *spare) {
    SortKey *from = keys, *to = spare;
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        sort_by_digit(from, count, shift, to);
        SortKey *other = from;
        from = to;
        to = other;
    }
    if (from != keys) memcpy(keys, from, count * sizeof *keys);
}

static unsigned bits_of(uint64_t value) {
    unsigned bits = 0;
    for (; value > 0; value >>= 1)
        bits++;
    return bits;
}

/* True if digits are less work than comparisons; fills the number of bits that keys have. */
static bool suits_radix(const SortKey *keys, size_t count, unsigned *bits) {
    enum { LEAST = 48, BITS_FOR_EACH_LEVEL = 3 };
    uint64_t all = keys[0].key;
    bool ascend = true;
    for (size_t i = 1; i < count && ascend; i++) {
        ascend = keys[i - 1].id < keys[i].id;
        all |= keys[i].key;
    }
    *bits = bits_of(all);
    return ascend && count >= LEAST && *bits <= BITS_FOR_EACH_LEVEL * bits_of(count);
}

void sort_keys(SortKey *keys, size_t count, Arena *scratch) {
    if (count <= SHORT_RUN) {
        insertion_sort(keys, count);
        return;
    }
    SortKey *spare = RAW_ARRAY(scratch, SortKey, count);
    unsigned bits;
    if (suits_radix(keys, count, &bits))
        radix_sort(keys, count, bits, spare);
    else
        merge_sort(keys, count, spare);
}

void sort_rows(const uint64_t *rows, uint32_t nkeys, uint32_t *order, uint32_t count,
               Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, count);
    uint32_t *before = RAW_ARRAY(scratch, uint32_t, count);
    for (uint32_t k = 0; k < nkeys; k++) {
        for (uint32_t i = 0; i < count; i++) {
            before[i] = order[i];
            keys[i] = (SortKey){rows[(size_t)order[i] * nkeys + k], i};
        }
        sort_keys(keys, count, scratch);
        for (uint32_t i = 0; i < count; i++)
            order[i] = before[keys[i].id];
    }
}
