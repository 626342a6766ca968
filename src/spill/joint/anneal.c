#include "spill/joint/anneal.h"

#include "spill/joint/assign.h"
#include "spill/joint/places.h"
#include "support/clock.h"

/* Joins cut gaps that share a point with a bundle: a sample of limited size. */
static void join_near(JointSearch *search, const Bundle *bundle) {
    enum { MOST_NEAR = 12, FEW_NEAR = 4 };
    uint32_t most = search->by_size ? FEW_NEAR : MOST_NEAR;
    uint32_t near[MOST_NEAR], seen = 0;
    ConflictWalk walk = conflicts_begin(search, bundle);
    for (const JointPiece *piece; (piece = conflicts_next(search, bundle, &walk));) {
        if (!is_gap(piece) || search->kept[piece_item(piece)]) continue;
        uint32_t at = seen++;
        if (at >= most) at = search_draw(search, seen);
        if (at < most) near[at] = piece_item(piece);
    }
    join_by_worth(search, near, seen < most ? seen : most);
}

/* Moves a bundle at random to where it wastes less room now. */
static void move_bundle(JointSearch *search) {
    uint32_t item = search_draw(search, search->count);
    search->nundo = 0;
    if (!search->items[item].fixed)
        try_bundle(search, bundle_first(search, item), bundle_last(search, item));
}

/* What one move evicted is not dearer in the next. */
static void forget_evictions(JointSearch *search) {
    for (size_t i = 0; i < search->charged.count; i++)
        search->evictions[search->charged.items[i]] = 0;
    search->charged.count = 0;
}

/* Places what the move evicted and joins what it cut; false if some segment has no place. */
static bool repair(JointSearch *search, const Bundle *bundle) {
    enum { MOST_EVICTIONS = 4 };
    size_t first = search->cut_now.count;
    join_by_worth(search, search->cut_now.items, first);
    if (!assign_unplaced(search, MOST_EVICTIONS)) return false;
    join_by_worth(search, search->cut_now.items + first, search->cut_now.count - first);
    join_near(search, bundle);
    return true;
}

/* Keeps a cut gap where that evicts least, and repairs. Undoes all if the cost has risen by more
 * than `temperature`. */
static void move_gap(JointSearch *search, double temperature) {
    enum { MOST_TIMES = 4 /* its gain that clearing may cost at first */ };
    uint32_t gap = search->cut_list[search_draw(search, search->ncut)];
    double before = (double)search->cost;
    if (search->by_size) forget_evictions(search);
    search->nundo = search->unplaced.count = search->cut_now.count = 0;
    Bundle bundle = bundle_of(search, bundle_first(search, gap - 1), bundle_last(search, gap));
    Rect rect;
    if (find_cheapest(search, &bundle, &rect) > MOST_TIMES * full_gain(search, gap)) return;
    evict_conflicts(search, &bundle, rect);
    assign_bundle(search, &bundle, rect);
    bool whole = repair(search, &bundle);
    if (!whole || (double)search->cost > before + temperature) undo_to(search, 0);
}

/* About what cutting a gap costs. */
static double mean_load(const JointSearch *search) {
    double sum = 0, count = 1;
    for (uint32_t i = 0; i < search->count; i++) {
        if (!search->items[i].linked) continue;
        sum += (double)search->items[i].load;
        count++;
    }
    return sum / count;
}

/* A positive number of mean about one; large ones are ever rarer. */
static double draw_falling(JointSearch *search) {
    double sum = search_draw_unit(search);
    while (search_draw(search, 2))
        sum++;
    return sum * 0.7;
}

void anneal(JointSearch *search, JointEffort effort) {
    enum { MOVES_BETWEEN_LOOKS = 64 };
    /* Without a beam search before it, stay closer to the start. */
    static const double TEMPERATURE[] = {0.1, 0.4}, NOISE[] = {0.2, 0.6};
    double temperature =
        TEMPERATURE[search->by_size] * mean_load(search) / (double)(effort.steps + 1);
    search->noise = NOISE[search->by_size];
    search->steps = effort.steps;
    for (uint32_t k = 1; search->ncut > 0 && search->steps > 0; k++) {
        if (k % MOVES_BETWEEN_LOOKS == 0 && clock_is_past(effort.deadline)) return;
        move_bundle(search);
        move_gap(search, temperature * (double)search->steps * draw_falling(search));
    }
}
