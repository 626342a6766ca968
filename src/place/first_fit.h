/* First fit: the lowest free place of a rectangle beside those that are taken. */
#ifndef PLACE_FIRST_FIT_H
#define PLACE_FIRST_FIT_H

#include "place/capacity.h"

/* Finds the lowest place below `size` for one block of `shape`, in any band of its class; among
 * equals the lowest band. Requires `taken` sorted by `low`. Fills `rect`, or returns false if there
 * is no place. O(count times bands). */
bool first_fit(const Rect *taken, uint32_t count, Shape shape, uint32_t size, Rect *rect);

typedef struct {
    Rect *items;
    uint32_t count;
} RectList;

/* The same for all of `rects`, one after the other, each beside those before it. Fills them, or
 * returns false where one has no place: the first ones are filled then. O(taken times bands +
 * rects times bands). */
bool first_fit_all(const RectList *taken, Shape shape, uint32_t size, RectList *rects);

/* The shape's rectangle at the bottom of a place that was found for one as large or larger, in the
 * first band of its class that lies in the place's. False where it does not fit in there. */
bool fit_in_place(Rect place, Shape shape, Rect *rect);

/* Adds a rectangle to a sorted list, which has room for it. O(count). */
void insert_by_low(Rect *rects, uint32_t count, Rect rect);

/* Sorts by `low`; equal ones keep their order. O(count log count). */
void sort_by_low(Rect *rects, uint32_t count, Arena *scratch);

#endif
