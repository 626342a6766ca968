/* The state of the search that choose_gaps() makes: internal to it.
 *
 * Items are the gaps that compete: those that may be kept and pass a point where not everything
 * fits. Points are runs of instruction points that no item enters or leaves; points where
 * everything fits are left out. Lanes are quadrants, or halves, or the whole, whichever is the
 * coarsest that all items stand in. */
#ifndef SPILL_RESIDENCY_CHOICE_H
#define SPILL_RESIDENCY_CHOICE_H

#include "ir/target.h"
#include "spill/residency/solve.h"
#include "spill/residency/capacity_tree.h"
#include "support/sort.h"

typedef struct {
    uint32_t gap;    /* in the problem */
    uint32_t spans;  /* its first span; the next item's is one past its last */
    uint32_t height; /* granules */
    uint32_t owner;  /* dense; items are in order of owners */
    uint32_t value;  /* NO_VALUE: cutting it costs no store, or one that is paid anyhow */
    uint32_t length; /* points of all its spans */
    int64_t load;    /* cycles */
} Item;

typedef struct {
    Item *items;     /* [count + 1]; the last holds only the end of spans */
    Interval *spans; /* in points of this search */
    uint32_t count;

    uint32_t npoints, lanes;       /* 1, 2 or 4 lanes */
    uint32_t *capacity[QUADRANTS]; /* [lanes][npoints] granules */
    Room rooms[QUADRANTS];         /* what the kept items use */

    uint32_t nowners;
    uint32_t *owner_items; /* [nowners + 1] first item of each */
    Bands *choices;        /* [nowners] masks of lanes where it may stand */
    uint8_t *band;         /* [nowners] mask of lanes where its kept items stand */
    uint32_t *standing;    /* [nowners] its items that are kept */

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

/* Fills a zeroed choice but for its steps: nothing kept, each owner in its lowest band. Sets `cut`
 * of the gaps that fit nowhere. O(gaps + intervals log points + points). */
void choice_init(Choice *choice, GapProblem *problem, Arena *scratch);

/* Takes `steps` from what is left. */
static inline void spend(Choice *choice, uint64_t steps) {
    choice->steps -= steps < choice->steps ? steps : choice->steps;
}

/* True if the item can be kept with all that is kept now, in a band of the given lanes. */
bool choice_fits(Choice *choice, uint32_t item, uint8_t band);

/* Keeps just the items of `kept`, owners in their bands of `band`. */
void choice_restore(Choice *choice, const uint8_t *kept, const uint8_t *band);

/* Keeps an item that is cut, or cuts one that is kept, in its owner's band. */
void choice_keep(Choice *choice, uint32_t item);
void choice_drop(Choice *choice, uint32_t item);

/* Cuts all items. O(items + points). */
void choice_clear(Choice *choice);

/* Gives the owner, of which nothing is kept, the band whose fullest point is least full. */
void choice_roomiest(Choice *choice, uint32_t owner);

/* True if the owner stands nowhere yet and has more bands than one: a new item may choose. */
bool choice_is_free(const Choice *choice, uint32_t owner);

/* Keeps cut items in the order of `keys` (ascending) as they fit; SortKey.id is the item. An owner
 * with a choice takes the band whose fullest point is least full, if `choosing`. */
void choice_fill(Choice *choice, const SortKey *keys, uint32_t count, bool choosing);

#endif
