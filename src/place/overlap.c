#include "place/overlap.h"

#include "ir/target.h"
#include "support/search.h"
#include "support/sort.h"

#define NOBODY UINT32_MAX

/* Who holds what of one quadrant. Leaf i is the granules between edges i and i + 1. */
typedef struct {
    uint64_t *until;  /* [2 * leaves] 1 + the last point of any holder in the part; 0: none */
    uint32_t *holder; /* [2 * leaves] what holds all of the part, or NOBODY */
} Quadrant;

typedef struct {
    const PlacedInterval *placed;
    uint32_t *edges; /* [nedges] lows and highs, ascending, each once */
    uint32_t nedges, leaves;
    Quadrant quadrants[QUADRANTS];
    OverlapJudge *judge;
    void *context;
} Sweep;

/* Leaves [low, high) below a tree node. */
typedef struct {
    uint32_t node, low, high;
} Part;

/* Who takes leaves [low, high), and until when. */
typedef struct {
    uint32_t low, high, holder;
    uint64_t until; /* 1 + its last point */
} Holding;

static Part left_of(Part part) {
    return (Part){2 * part.node, part.low, part.low + (part.high - part.low) / 2};
}

static Part right_of(Part part) {
    return (Part){2 * part.node + 1, part.low + (part.high - part.low) / 2, part.high};
}

/* The lowest holder in leaves [low, high) that is live at `point`. Recursion as deep as the tree.
 */
static uint32_t find_holder(const Quadrant *q, Part part, uint32_t low, uint32_t high,
                            uint32_t point) {
    if (part.high <= low || high <= part.low || q->until[part.node] <= point) return NOBODY;
    if (q->holder[part.node] != NOBODY) return q->holder[part.node];
    uint32_t found = find_holder(q, left_of(part), low, high, point);
    return found != NOBODY ? found : find_holder(q, right_of(part), low, high, point);
}

static void set_part(Quadrant *q, uint32_t node, uint32_t holder, uint64_t until) {
    q->holder[node] = holder;
    q->until[node] = until;
}

static void take(Quadrant *q, Part part, const Holding *holding) {
    if (part.high <= holding->low || holding->high <= part.low) return;
    if (holding->low <= part.low && part.high <= holding->high) {
        set_part(q, part.node, holding->holder, holding->until);
        return;
    }
    Part left = left_of(part), right = right_of(part);
    if (q->holder[part.node] != NOBODY) {
        set_part(q, left.node, q->holder[part.node], q->until[part.node]);
        set_part(q, right.node, q->holder[part.node], q->until[part.node]);
        q->holder[part.node] = NOBODY;
    }
    take(q, left, holding);
    take(q, right, holding);
    uint64_t a = q->until[left.node], b = q->until[right.node];
    q->until[part.node] = a > b ? a : b;
}

static uint32_t edge_of(const Sweep *sweep, uint32_t granule) {
    uint32_t at;
    FIND_FIRST(at, 0, sweep->nedges, sweep->edges[at] >= granule);
    return at;
}

/* Enters one in a quadrant; false where the judge says no. */
static bool enter(Sweep *sweep, Quadrant *q, uint32_t id) {
    const PlacedInterval *one = &sweep->placed[id];
    Part all = {1, 0, sweep->leaves};
    uint32_t low = edge_of(sweep, one->rect.low), high = edge_of(sweep, one->rect.high);
    bool outlived = false;
    for (uint32_t at = low; at < high;) {
        uint32_t other = find_holder(q, all, at, high, one->interval.first);
        if (other == NOBODY) break;
        if (!sweep->judge(sweep->context, &sweep->placed[other], one)) return false;
        outlived |= sweep->placed[other].interval.last > one->interval.last;
        at = edge_of(sweep, sweep->placed[other].rect.high);
    }
    Holding holding = {low, high, id, (uint64_t)one->interval.last + 1};
    if (!outlived) take(q, all, &holding);
    return true;
}

static void find_edges(Sweep *sweep, size_t count, Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, 2 * count);
    for (size_t i = 0; i < count; i++) {
        keys[2 * i] = (SortKey){sweep->placed[i].rect.low, (uint32_t)(2 * i)};
        keys[2 * i + 1] = (SortKey){sweep->placed[i].rect.high, (uint32_t)(2 * i + 1)};
    }
    sort_keys(keys, 2 * count, scratch);
    sweep->edges = RAW_ARRAY(scratch, uint32_t, 2 * count);
    for (size_t i = 0; i < 2 * count; i++)
        if (i == 0 || keys[i].key != keys[i - 1].key)
            sweep->edges[sweep->nedges++] = (uint32_t)keys[i].key;
    for (sweep->leaves = 1; sweep->leaves < sweep->nedges;)
        sweep->leaves *= 2;
    for (int i = 0; i < QUADRANTS; i++) {
        Quadrant *q = &sweep->quadrants[i];
        q->until = NEW_ARRAY(scratch, uint64_t, (size_t)sweep->leaves * 2);
        q->holder = RAW_ARRAY(scratch, uint32_t, (size_t)sweep->leaves * 2);
        for (size_t n = 0; n < (size_t)sweep->leaves * 2; n++)
            q->holder[n] = NOBODY;
    }
}

bool check_overlaps(const PlacedInterval *placed, size_t count, OverlapJudge *judge,
                    void *context) {
    if (count == 0) return true;
    Arena scratch;
    arena_init(&scratch);
    Sweep sweep = {.placed = placed, .judge = judge, .context = context};
    find_edges(&sweep, count, &scratch);
    SortKey *order = RAW_ARRAY(&scratch, SortKey, count);
    for (size_t i = 0; i < count; i++)
        order[i] = (SortKey){placed[i].interval.first, (uint32_t)i};
    sort_keys(order, count, &scratch);
    bool allowed = true;
    for (size_t i = 0; i < count; i++)
        for (int q = 0; q < QUADRANTS; q++)
            if (placed[order[i].id].rect.mask & (1 << q))
                allowed &= enter(&sweep, &sweep.quadrants[q], order[i].id);
    arena_free(&scratch);
    return allowed;
}
