#include "spill/farthest.h"

#include <string.h>

/* The items that stand in one lane now, the one that ends last on top. */
typedef struct {
    uint64_t *keys; /* last point << 32 | item: a binary heap, largest first */
    uint32_t count;
} Heap;

typedef struct {
    Choice *choice;
    Heap heaps[QUADRANTS];
    uint64_t used[QUADRANTS];
    uint8_t *stands; /* [count] kept so far */
} FarthestSweep;

static void heap_push(Heap *heap, uint64_t key) {
    uint32_t at = heap->count++;
    while (at > 0 && heap->keys[(at - 1) / 2] < key) {
        heap->keys[at] = heap->keys[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->keys[at] = key;
}

static uint64_t heap_pop(Heap *heap) {
    uint64_t top = heap->keys[0], key = heap->keys[--heap->count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->keys[child + 1] > heap->keys[child]) child++;
        if (heap->keys[child] <= key) break;
        heap->keys[at] = heap->keys[child];
    }
    heap->keys[at] = key;
    return top;
}

static uint32_t first_point(const Choice *choice, uint32_t item) {
    return choice->spans[choice->items[item].spans].first;
}

static uint32_t last_point(const Choice *choice, uint32_t item) {
    return choice->spans[choice->items[item + 1].spans - 1].last;
}

static uint8_t band_of(const Choice *choice, uint32_t item) {
    return choice->band[choice->items[item].owner];
}

static void enter(FarthestSweep *sweep, uint32_t item) {
    sweep->stands[item] = 1;
    uint64_t key = (uint64_t)last_point(sweep->choice, item) << 32 | item;
    for (uint32_t lane = 0; lane < sweep->choice->lanes; lane++) {
        if (!(band_of(sweep->choice, item) >> lane & 1)) continue;
        sweep->used[lane] += sweep->choice->items[item].height;
        heap_push(&sweep->heaps[lane], key);
    }
}

static void leave(FarthestSweep *sweep, uint32_t item) {
    for (uint32_t lane = 0; lane < sweep->choice->lanes; lane++)
        if (band_of(sweep->choice, item) >> lane & 1)
            sweep->used[lane] -= sweep->choice->items[item].height;
}

/* Cuts what ends last until the lane fits; items that have left are still in the heap. */
static void make_fit(FarthestSweep *sweep, uint32_t lane, uint32_t capacity) {
    while (sweep->used[lane] > capacity) {
        uint32_t item = (uint32_t)heap_pop(&sweep->heaps[lane]);
        if (!sweep->stands[item]) continue;
        sweep->stands[item] = 0;
        leave(sweep, item);
    }
}

/* Items by their first point, and by their last. */
static SortKey *order_by(const Choice *choice, uint32_t (*point)(const Choice *, uint32_t),
                         Arena *scratch) {
    SortKey *keys = RAW_ARRAY(scratch, SortKey, choice->count);
    for (uint32_t item = 0; item < choice->count; item++)
        keys[item] = (SortKey){point(choice, item), item};
    sort_keys(keys, choice->count, scratch);
    return keys;
}

static void sweep_points(FarthestSweep *sweep, const SortKey *starts, const SortKey *ends) {
    Choice *choice = sweep->choice;
    uint32_t entered = 0, left = 0;
    for (uint32_t p = 0; p < choice->npoints; p++) {
        for (; left < choice->count && ends[left].key < p; left++)
            if (sweep->stands[ends[left].id]) leave(sweep, ends[left].id);
        for (; entered < choice->count && starts[entered].key == p; entered++)
            enter(sweep, starts[entered].id);
        for (uint32_t lane = 0; lane < choice->lanes; lane++)
            make_fit(sweep, lane, choice->capacity[lane][p]);
    }
}

void choose_farthest(Choice *choice, Arena *scratch) {
    FarthestSweep sweep = {.choice = choice, .stands = NEW_ARRAY(scratch, uint8_t, choice->count)};
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        sweep.heaps[lane].keys = RAW_ARRAY(scratch, uint64_t, choice->count);
    sweep_points(&sweep, order_by(choice, first_point, scratch),
                 order_by(choice, last_point, scratch));
    choice_clear(choice);
    for (uint32_t item = 0; item < choice->count; item++)
        if (sweep.stands[item]) choice_keep(choice, item);
    spend(choice, (uint64_t)choice->count * 4 + (uint64_t)choice->npoints * choice->lanes);
}
