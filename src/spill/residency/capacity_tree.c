#include "spill/residency/capacity_tree.h"

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Below any sum, and far enough from the end that additions do not wrap. */
static const int64_t NOTHING = INT64_MIN / 2;

void room_init(Room *room, const uint32_t *capacity, uint32_t npoints, Arena *arena) {
    room->leaves = 2;
    room->levels = 2;
    while (room->leaves < (uint64_t)npoints + 2) {
        room->leaves *= 2;
        room->levels++;
    }
    room->most = RAW_ARRAY(arena, int64_t, (size_t)room->leaves * 2);
    room->add = RAW_ARRAY(arena, int64_t, (size_t)room->leaves * 2);
    room_clear(room, capacity, npoints);
}

void room_clear(Room *room, const uint32_t *capacity, uint32_t npoints) {
    uint32_t leaves = room->leaves;
    for (uint32_t i = 0; i < leaves; i++) {
        room->most[leaves + i] = i >= 1 && i <= npoints ? -(int64_t)capacity[i - 1] : NOTHING;
        room->add[leaves + i] = 0;
    }
    for (uint32_t node = leaves - 1; node >= 1; node--) {
        room->most[node] = larger(room->most[2 * node], room->most[2 * node + 1]);
        room->add[node] = 0;
    }
}

static void pull(Room *room, uint32_t node) {
    room->most[node] = larger(room->most[2 * node], room->most[2 * node + 1]) + room->add[node];
}

static void add_node(Room *room, uint32_t node, int64_t amount) {
    room->most[node] += amount;
    room->add[node] += amount;
}

/* Leaf i + 1 is point i, so that there is a leaf on either side of any range: climb from those two.
 */
void room_add(Room *room, uint32_t first, uint32_t last, int64_t amount) {
    uint32_t left = first + room->leaves, right = last + 2 + room->leaves;
    for (; (left ^ right) != 1; left >>= 1, right >>= 1) {
        if (!(left & 1)) add_node(room, left ^ 1, amount);
        if (right & 1) add_node(room, right ^ 1, amount);
        pull(room, left >> 1);
        pull(room, right >> 1);
    }
    for (left >>= 1; left >= 1; left >>= 1)
        pull(room, left);
}

int64_t room_most(const Room *room, uint32_t first, uint32_t last) {
    uint32_t left = first + room->leaves, right = last + 2 + room->leaves;
    int64_t most_left = NOTHING, most_right = NOTHING;
    for (; (left ^ right) != 1; left >>= 1, right >>= 1) {
        if (!(left & 1)) most_left = larger(most_left, room->most[left ^ 1]);
        if (right & 1) most_right = larger(most_right, room->most[right ^ 1]);
        most_left += room->add[left >> 1];
        most_right += room->add[right >> 1];
    }
    int64_t most = larger(most_left, most_right);
    for (left >>= 1; left >= 1; left >>= 1)
        most += room->add[left];
    return most;
}
