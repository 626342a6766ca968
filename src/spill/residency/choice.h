/* Choice: which gaps are kept, as solve_gaps() searches for them. Internal to this folder.
 *
 * Items are the gaps that compete: those that may be kept and pass a point where not all fit.
 * Points are runs of instruction points that no item enters or leaves; points where all fit are
 * left out. Lanes are quadrants, halves or the whole axis: the coarsest that hold every item. */
#ifndef SPILL_RESIDENCY_CHOICE_H
#define SPILL_RESIDENCY_CHOICE_H

#include "ir/target.h"
#include "spill/residency/capacity_tree.h"
#include "spill/residency/solve.h"
#include "support/sort.h"

typedef struct {
    uint32_t gap;    /* in the problem */
    uint32_t spans;  /* its first span; the next item's is one past its last */
    uint32_t height; /* granules */
    uint32_t owner;  /* dense; items are in order of owners */
    uint32_t value;  /* NO_VALUE: cutting it costs no store, or one that is paid anyway */
    uint32_t length; /* points of all its spans */
    int64_t load;    /* cycles */
} Item;

typedef struct {
    Item *items;     /* [count + 1]; the last holds only the end of spans */
    Interval *spans; /* in points of this search */
    uint32_t count;

    uint32_t npoints, lanes;       /* 1, 2 or 4 lanes */
    uint32_t *capacity[QUADRANTS]; /* [lanes][npoints] granules */
    CapacityTree trees[QUADRANTS]; /* what kept items use, by lane */

    uint32_t nowners;
    uint32_t *owner_items; /* [nowners + 1] first item of each */
    Bands *choices;        /* [nowners] masks of lanes where it may lie */
    uint8_t *band;         /* [nowners] mask of lanes where its kept items lie */
    uint32_t *nkept;       /* [nowners] its items that are kept */

    uint32_t nvalues;
    int64_t *store;        /* [nvalues] cycles */
    uint32_t *value_first; /* [nvalues + 1] into value_items */
    uint32_t *value_items; /* items of each value */
    uint32_t *cuts;        /* [nvalues] its items that are not kept */

    uint8_t *kept; /* [count] */
    int64_t cost;  /* loads and stores of the items that are not kept */
    uint32_t cut;  /* how many those are */

    uint64_t steps; /* left: one is a visit to an item, a point or a tree node */
} Choice;

/* Takes `steps` from what is left. */
static inline void spend(Choice *choice, uint64_t steps) {
    choice->steps -= steps < choice->steps ? steps : choice->steps;
}

/* True if the item fits beside all that is kept now, in a band of the given lanes. */
bool choice_fits(Choice *choice, uint32_t item, uint8_t band);

/* Keeps exactly the items of `kept`, owners in their bands of `band`. */
void choice_restore(Choice *choice, const uint8_t *kept, const uint8_t *band);

/* Keeps an item that is cut, or cuts one that is kept, in its owner's band. */
void choice_keep(Choice *choice, uint32_t item);
void choice_drop(Choice *choice, uint32_t item);

/* Cuts all items. O(items + points). */
void choice_clear(Choice *choice);

/* Gives the owner, of which nothing is kept, the band whose fullest point is least full. */
void choice_roomiest(Choice *choice, uint32_t owner);

/* True if no item of the owner is kept and it has several bands: the next item may choose. */
bool choice_is_free(const Choice *choice, uint32_t owner);

/* Keeps the cut items that fit, in the order of `keys` (ascending); SortKey.id is the item. If
 * `choosing`, an owner that is free takes the band whose fullest point is least full. */
void choice_fill(Choice *choice, const SortKey *keys, uint32_t count, bool choosing);

#endif
