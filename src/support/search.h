/* Binary search. */
#ifndef SUPPORT_SEARCH_H
#define SUPPORT_SEARCH_H

/* Sets `at` to the first position of [begin, end) for which `holds`, an expression of `at`, is
 * true; to `end` if there is none. `holds` must be false up to some position and true from there
 * on; it is evaluated O(log (end - begin)) times and must have no effect. */
#define FIND_FIRST(at, begin, end, holds)                                                          \
    do {                                                                                           \
        __typeof__(at) find_low = (begin), find_high = (end);                                      \
        while (find_low < find_high) {                                                             \
            (at) = find_low + (find_high - find_low) / 2;                                          \
            if (holds)                                                                             \
                find_high = (at);                                                                  \
            else                                                                                   \
                find_low = (at) + 1;                                                               \
        }                                                                                          \
        (at) = find_low;                                                                           \
    } while (0)

#endif
