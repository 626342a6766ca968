/* The state of the exact search, shared by what builds it, draws conclusions and decides. */
#ifndef PLACE_EXACT_SEARCH_H
#define PLACE_EXACT_SEARCH_H

#include "place/exact/internal.h"

/* How the problem is seen. A *section* is a greatest set of items live at once. A *column* is a set
 * of quadrants that no band here tells apart, so that problems with one kind of band have one. A
 * *cell* is a column of a section: a stack with a floor, below which all is decided. An *option* is
 * an item in one of its bands. A *group* of columns must have room for what cannot go elsewhere. */
enum { MOST_COLUMNS = 4, MOST_GROUPS = 7, NO_COLUMN = 255 };

#define DEAD UINT32_MAX /* the lowest place of an option that is none, or is placed already */

/* Granules [low, high) taken by something fixed. */
typedef struct {
    uint32_t low, high;
} FixedSpan;

/* What a state hashes to: 128 bits, so that two states never share a key by chance. */
typedef struct {
    uint64_t a, b;
} StateKey;

/* Old values, to be restored. */
typedef struct {
    uint32_t *where;
    uint32_t old;
} TrailEntry;

typedef struct {
    int64_t *where;
    int64_t old;
} SlackTrailEntry;

/* The option placed, and how to get back to before that. */
typedef struct {
    uint32_t option;
    uint32_t placed;               /* items placed before */
    size_t changes, slack_changes; /* lengths of the trails before */
    StateKey before;
    StateKey after; /* once conclusions were drawn; if keyed */
    bool keyed;
} SearchDecision;

typedef struct {
    const PackProblem *problem;
    const PackGraph *neighbours;
    PackPart part; /* ids in the search's own order: exchangeable items side by side */
    Budget *budget;
    Arena *scratch;

    /* Shape: constant. Lists are compressed: list i is [start[i], start[i + 1]). */
    uint32_t items, options, sections, cells, columns, groups;
    uint8_t column_of[MOST_COLUMNS];      /* [quadrant], or NO_COLUMN */
    uint8_t weight[MOST_COLUMNS];         /* [column] its quadrants */
    uint8_t group_columns[MOST_GROUPS];   /* set of columns */
    uint8_t group_quadrants[MOST_GROUPS]; /* set of quadrants */
    uint32_t *item_options;               /* start; the options of an item are numbered in turn */
    uint32_t *item_sections, *section_list;
    uint32_t *item_of;                  /* [problem->count] item by id, or DEAD */
    uint32_t *twin;                     /* [items] first item that is exchangeable with it */
    uint32_t *owner;                    /* [options] item */
    uint8_t *columns_taken, *quadrants; /* [options] */
    uint32_t *height, *align;           /* [options] */
    uint32_t *shortest;                 /* [options] least height of an item it overlaps, or DEAD */
    uint32_t *option_cells, *cell_list;
    uint32_t *cell_members, *member_list; /* options; the order within a cell changes */
    uint32_t *option_blocks;
    FixedSpan *blocks; /* by low */
    uint32_t *cell_blocks;
    FixedSpan *cell_block;
    StateKey *factor; /* [options] odd random numbers */

    /* State: restored by the trails. */
    uint32_t *lowest;  /* [options] it is placed there or above; or DEAD */
    uint32_t *support; /* [options] highest top of a placed item that it overlaps */
    uint32_t *floor; /* [cells] least lowest place of its members; the capacity if there are none */
    uint32_t *left;  /* [cells] members that are not placed nor dead come before this one */
    uint32_t *rivals;  /* [cells] members that could be next */
    uint32_t *certain; /* [items * groups] quadrants that it takes of the group in any case */
    uint32_t *alive;   /* [items] options left */
    int64_t *slack;    /* [sections * groups] granules of all quadrants that may be wasted */
    StateKey key;      /* of `lowest` */
    TrailEntry *changes;
    size_t nchanges, change_capacity;
    SlackTrailEntry *slack_changes;
    size_t nslack, slack_capacity;

    /* Restored by the stack of what is placed. */
    uint32_t *stack; /* [items] options */
    uint32_t placed;
    uint32_t *offset; /* [items] */
    uint8_t *band;    /* [items] quadrants */

    /* Cells where conclusions are due. */
    uint32_t *queue, queued;
    uint8_t *dirty; /* [cells] */

    SearchDecision *decisions; /* [items + 1] */
    uint32_t depth;
    StateKey *memo; /* [1 << memo_bits] states known to fail; pairs of slots */
    uint32_t memo_bits;
    uint64_t remembered; /* since the memo was last enlarged */

    /* Guidance. */
    bool lowest_first; /* decide at the lowest level; else at the most constrained cell */
    double *priority;  /* [options] */
    uint32_t *count;   /* [cells] zero between uses */
    uint32_t *ready;   /* [options] */
    uint64_t *urgency; /* [cells] as of the choice when it was last judged */
    uint64_t *judged;  /* [cells] that choice */
    uint64_t choices;  /* made so far */
    uint64_t work;     /* steps not yet booked */
} ExactSearch;

/* Makes the shape and room for the state. False: too large. */
bool pack_build(ExactSearch *s);

/* The state before any decision, for one capacity. False: it is plain that nothing fits. */
bool pack_begin(ExactSearch *s, uint32_t capacity);

/* Draws all conclusions that are due. False: there is no placement from here. */
bool pack_propagate(ExactSearch *s);

/* Puts an option at its lowest place; conclusions become due. False: there is no placement. */
bool pack_assign(ExactSearch *s, uint32_t option);

/* True if something ends right below its lowest place, so that it could not be lower. */
bool pack_supported(const ExactSearch *s, uint32_t option);

/* An option whose cells all have their floors at its lowest place is not placed there. It then
 * rests on an item that is yet to be placed, or on a fixed one. */
bool pack_refuse(ExactSearch *s, uint32_t option);

/* The same, and its exchangeable items are not placed there either. */
bool pack_refuse_twins(ExactSearch *s, uint32_t option);

/* Granules of a cell's column that may stay empty from its floor on. */
uint64_t pack_waste_left(const ExactSearch *s, uint32_t cell);

/* Back to earlier lengths of the trails. */
void pack_undo(ExactSearch *s, size_t changes, size_t slack_changes);

/* Granules of [low, high) in a cell that nothing fixed takes. */
int64_t pack_free_between(const ExactSearch *s, uint32_t cell, uint32_t low, uint32_t high);

/* Quadrants of a group that an option takes. */
uint32_t pack_share(const ExactSearch *s, uint32_t option, uint32_t group);

/* The least such share over the options that an item has left. */
uint32_t pack_least_share(const ExactSearch *s, uint32_t item, uint32_t group);

/* Starts conclusions in a cell. */
void pack_mark(ExactSearch *s, uint32_t cell);

/* Forgets the conclusions that are due. */
void pack_drop_queue(ExactSearch *s);

/* Raises the lowest place of an option to `y` or the next that is free. False: its item has no
 * place left. */
bool pack_raise(ExactSearch *s, uint32_t option, uint64_t y);

#endif
