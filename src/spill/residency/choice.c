#include "spill/residency/choice.h"

#include <string.h>

bool choice_fits(Choice *choice, uint32_t item, uint8_t band) {
    const Item *it = &choice->items[item];
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        if (!(band >> lane & 1)) continue;
        const CapacityTree *tree = &choice->trees[lane];
        for (uint32_t s = it->spans; s < it[1].spans; s++) {
            spend(choice, tree->levels);
            if (tree_most(tree, choice->spans[s].first, choice->spans[s].last) + it->height > 0)
                return false;
        }
    }
    return true;
}

/* The most of used less capacity over the points of the owner's items, in a band. */
static int64_t fullest_in(Choice *choice, uint32_t owner, uint8_t band) {
    uint32_t first = choice->items[choice->owner_items[owner]].spans;
    uint32_t end = choice->items[choice->owner_items[owner + 1]].spans;
    int64_t fullest = INT64_MIN;
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        if (!(band >> lane & 1)) continue;
        const CapacityTree *tree = &choice->trees[lane];
        for (uint32_t s = first; s < end; s++) {
            spend(choice, tree->levels);
            int64_t most = tree_most(tree, choice->spans[s].first, choice->spans[s].last);
            if (most > fullest) fullest = most;
        }
    }
    return fullest;
}

/* Uses the granules of an item in the lanes of its owner's band, or frees them if sign is -1. */
static void use_granules(Choice *choice, uint32_t item, int sign) {
    const Item *it = &choice->items[item];
    int64_t amount = sign * (int64_t)it->height;
    for (uint32_t lane = 0; lane < choice->lanes; lane++) {
        if (!(choice->band[it->owner] >> lane & 1)) continue;
        CapacityTree *tree = &choice->trees[lane];
        for (uint32_t s = it->spans; s < it[1].spans; s++) {
            spend(choice, tree->levels);
            tree_add(tree, choice->spans[s].first, choice->spans[s].last, amount);
        }
    }
}

void choice_keep(Choice *choice, uint32_t item) {
    const Item *it = &choice->items[item];
    use_granules(choice, item, 1);
    choice->cost -= it->load;
    if (it->value != NO_VALUE && --choice->cuts[it->value] == 0)
        choice->cost -= choice->store[it->value];
    choice->nkept[it->owner]++;
    choice->kept[item] = 1;
    choice->cut--;
}

void choice_drop(Choice *choice, uint32_t item) {
    const Item *it = &choice->items[item];
    use_granules(choice, item, -1);
    choice->cost += it->load;
    if (it->value != NO_VALUE && choice->cuts[it->value]++ == 0)
        choice->cost += choice->store[it->value];
    choice->nkept[it->owner]--;
    choice->kept[item] = 0;
    choice->cut++;
}

void choice_clear(Choice *choice) {
    choice->cost = 0;
    choice->cut = choice->count;
    memset(choice->kept, 0, choice->count);
    memset(choice->nkept, 0, choice->nowners * sizeof *choice->nkept);
    for (uint32_t value = 0; value < choice->nvalues; value++) {
        choice->cuts[value] = choice->value_first[value + 1] - choice->value_first[value];
        if (choice->cuts[value]) choice->cost += choice->store[value];
    }
    for (uint32_t item = 0; item < choice->count; item++)
        choice->cost += choice->items[item].load;
    for (uint32_t lane = 0; lane < choice->lanes; lane++)
        tree_clear(&choice->trees[lane], choice->capacity[lane], choice->npoints);
    spend(choice, choice->count + choice->nvalues + (uint64_t)choice->lanes * choice->npoints);
}

void choice_restore(Choice *choice, const uint8_t *kept, const uint8_t *band) {
    memcpy(choice->band, band, choice->nowners);
    choice_clear(choice);
    for (uint32_t item = 0; item < choice->count; item++)
        if (kept[item]) choice_keep(choice, item);
}

bool choice_is_free(const Choice *choice, uint32_t owner) {
    return choice->nkept[owner] == 0 && choice->choices[owner].count > 1;
}

void choice_roomiest(Choice *choice, uint32_t owner) {
    Bands bands = choice->choices[owner];
    int64_t least = INT64_MAX;
    for (int b = 0; b < bands.count; b++) {
        int64_t fullest = fullest_in(choice, owner, bands.masks[b]);
        if (fullest >= least) continue;
        least = fullest;
        choice->band[owner] = bands.masks[b];
    }
}

void choice_fill(Choice *choice, const SortKey *keys, uint32_t count, bool choosing) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t item = keys[i].id, owner = choice->items[item].owner;
        if (choice->kept[item]) continue;
        if (choosing && choice_is_free(choice, owner)) choice_roomiest(choice, owner);
        if (choice_fits(choice, item, choice->band[owner])) choice_keep(choice, item);
    }
}
