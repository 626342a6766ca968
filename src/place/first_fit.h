/* First fit: the lowest free place of a rectangle beside those that are taken. */
#ifndef PLACE_FIRST_FIT_H
#define PLACE_FIRST_FIT_H

#include "place/capacity.h"

/* Finds the lowest place below `size` for one block of `shape`, in any band of its class; among
 * equals the lowest band. Requires `taken` sorted by `low`. Fills `rect`, or returns false if there
 * is no place. O(count times bands). */
bool first_fit(const Rect *taken, uint32_t count, Shape shape, uint32_t size, Rect *rect);

/* Adds a rectangle to a sorted list, which has room for it. O(count). */
void insert_by_low(Rect *rects, uint32_t count, Rect rect);

/* Sorts by `low`; equal ones keep their order. O(count log count). */
void sort_by_low(Rect *rects, uint32_t count, Arena *scratch);

#endif
