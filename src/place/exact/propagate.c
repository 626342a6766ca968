/* What follows from a state of the exact search: floors, lowest places, waste. */
#include "place/exact/search.h"

static void set(ExactSearch *s, uint32_t *where, uint32_t value) {
    PUSH(s->scratch, s->changes, s->nchanges, s->change_capacity, ((TrailEntry){where, *where}));
    *where = value;
}

static void add_slack(ExactSearch *s, uint32_t at, int64_t delta) {
    int64_t *where = &s->slack[at];
    PUSH(s->scratch, s->slack_changes, s->nslack, s->slack_capacity,
         ((SlackTrailEntry){where, *where}));
    *where += delta;
}

void pack_undo(ExactSearch *s, size_t changes, size_t slack_changes) {
    while (s->nchanges > changes) {
        TrailEntry change = s->changes[--s->nchanges];
        *change.where = change.old;
    }
    while (s->nslack > slack_changes) {
        SlackTrailEntry change = s->slack_changes[--s->nslack];
        *change.where = change.old;
    }
}

void pack_mark(ExactSearch *s, uint32_t cell) {
    if (s->dirty[cell]) return;
    s->dirty[cell] = 1;
    s->queue[s->queued++] = cell;
}

uint32_t pack_share(const ExactSearch *s, uint32_t option, uint32_t group) {
    return (uint32_t)__builtin_popcount(s->quadrants[option] & s->group_quadrants[group]);
}

uint64_t pack_waste_left(const ExactSearch *s, uint32_t cell) {
    uint32_t section = cell / s->columns, column = cell % s->columns;
    if (s->columns == 1) return (uint64_t)s->slack[section] / s->weight[0];
    int64_t least = INT64_MAX;
    for (uint32_t g = 0; g < s->groups; g++)
        if (s->group_columns[g] >> column & 1) {
            int64_t slack = s->slack[section * s->groups + g];
            if (slack < least) least = slack;
        }
    return (uint64_t)least / s->weight[column];
}

/* The first place at or above `y` that fits the alignment and is clear of what is fixed, or DEAD.
 */
static uint32_t next_free(const ExactSearch *s, uint32_t option, uint64_t y) {
    uint32_t height = s->height[option], align = s->align[option];
    if (align > 1) y = align_up(y, align);
    for (uint32_t k = s->option_blocks[option]; k < s->option_blocks[option + 1]; k++) {
        if (y + height <= s->blocks[k].low) break;
        if (s->blocks[k].high > y) y = align_up(s->blocks[k].high, align);
    }
    return y + height <= s->part.capacity ? (uint32_t)y : DEAD;
}

uint32_t pack_least_share(const ExactSearch *s, uint32_t item, uint32_t group) {
    uint32_t least = MOST_COLUMNS;
    for (uint32_t o = s->item_options[item]; o < s->item_options[item + 1]; o++) {
        if (s->lowest[o] == DEAD) continue;
        uint32_t share = pack_share(s, o, group);
        if (share < least) least = share;
    }
    return least;
}

/* An item with fewer options left is certain to take more of some groups. False: more than there
 * is. */
static bool recount(ExactSearch *s, uint32_t item) {
    for (uint32_t g = 0; g < s->groups; g++) {
        uint32_t least = pack_least_share(s, item, g);
        uint32_t *had = &s->certain[item * s->groups + g];
        if (least == *had) continue;
        int64_t more = (int64_t)(least - *had) * s->height[s->item_options[item]];
        set(s, had, least);
        for (uint32_t k = s->item_sections[item]; k < s->item_sections[item + 1]; k++) {
            uint32_t section = s->section_list[k];
            add_slack(s, section * s->groups + g, -more);
            if (s->slack[section * s->groups + g] < 0) return false;
            for (uint32_t c = 0; c < s->columns; c++)
                if (s->group_columns[g] >> c & 1) pack_mark(s, section * s->columns + c);
        }
        s->work += 3 * (s->item_sections[item + 1] - s->item_sections[item]);
    }
    return true;
}

/* Conclusions are due in cells where the option could have been next. */
static void set_lowest(ExactSearch *s, uint32_t option, uint32_t y) {
    uint32_t old = s->lowest[option];
    s->key.a += s->factor[option].a * (uint64_t)(y - (uint64_t)old);
    s->key.b += s->factor[option].b * (uint64_t)(y - (uint64_t)old);
    set(s, &s->lowest[option], y);
    for (uint32_t k = s->option_cells[option]; k < s->option_cells[option + 1]; k++) {
        uint32_t cell = s->cell_list[k];
        if (old <= s->floor[cell] + pack_waste_left(s, cell)) pack_mark(s, cell);
    }
    s->work += s->option_cells[option + 1] - s->option_cells[option];
}

bool pack_raise(ExactSearch *s, uint32_t option, uint64_t y) {
    uint32_t place = next_free(s, option, y);
    if (place == s->lowest[option]) return true;
    uint32_t item = s->owner[option];
    set_lowest(s, option, place);
    if (place != DEAD) return true;
    set(s, &s->alive[item], s->alive[item] - 1);
    if (!s->alive[item]) return false;
    return s->columns == 1 || recount(s, item);
}

int64_t pack_free_between(const ExactSearch *s, uint32_t cell, uint32_t low, uint32_t high) {
    int64_t space = (int64_t)high - low;
    for (uint32_t k = s->cell_blocks[cell]; k < s->cell_blocks[cell + 1]; k++) {
        uint32_t from = s->cell_block[k].low > low ? s->cell_block[k].low : low;
        uint32_t to = s->cell_block[k].high < high ? s->cell_block[k].high : high;
        if (from < to) space -= to - from;
    }
    return space;
}

/* What lies below the new floor is wasted. False: more than may be. */
static bool raise_floor(ExactSearch *s, uint32_t cell, uint32_t y) {
    uint32_t section = cell / s->columns, column = cell % s->columns;
    int64_t waste = pack_free_between(s, cell, s->floor[cell], y);
    set(s, &s->floor[cell], y);
    if (!waste) return true;
    for (uint32_t g = 0; g < s->groups; g++) {
        if (!(s->group_columns[g] >> column & 1)) continue;
        add_slack(s, section * s->groups + g, -waste * s->weight[column]);
        if (s->slack[section * s->groups + g] < 0) return false;
    }
    if (s->columns > 1)
        for (uint32_t c = 0; c < s->columns; c++)
            pack_mark(s, section * s->columns + c);
    return true;
}

/* Sorts the members of a cell that are left by their lowest places. The lists are nearly sorted
 * already. What is dead or placed ends up last, and is not looked at again below this state. */
static uint32_t sort_members(ExactSearch *s, uint32_t cell) {
    uint32_t *members = s->member_list + s->cell_members[cell];
    uint32_t count = s->left[cell];
    s->work += count + 1;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t o = members[i], y = s->lowest[o], k = i;
        for (; k && s->lowest[members[k - 1]] > y; k--)
            members[k] = members[k - 1];
        members[k] = o;
        s->work += i - k;
    }
    while (count && s->lowest[members[count - 1]] == DEAD)
        count--;
    if (count != s->left[cell]) set(s, &s->left[cell], count);
    return count;
}

/* Draws the conclusions in one cell. Its floor is the least lowest place of its members. Space that
 * all members together cannot fill before the next may start is wasted. A member that would waste
 * too much if it were next is above one that would not. */
static bool tighten(ExactSearch *s, uint32_t cell) {
    const uint32_t *members = s->member_list + s->cell_members[cell];
    uint32_t count = sort_members(s, cell);
    s->work += count;
    uint32_t floor = count ? s->lowest[members[0]] : s->part.capacity;
    if (floor > s->floor[cell] && !raise_floor(s, cell, floor)) return false;
    if (!count) return true;
    floor = s->floor[cell];
    uint64_t waste = pack_waste_left(s, cell);
    uint64_t next = UINT64_MAX, filled = 0, idle = 0;
    uint32_t rivals = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t o = members[k], y = s->lowest[o];
        if (y > floor + filled + idle) {
            uint64_t space = (uint64_t)pack_free_between(s, cell, floor, y);
            if (space > filled + idle) idle = space - filled;
            if (idle > waste) return false;
        }
        if (y <= floor + waste) {
            rivals++;
            if (y + (uint64_t)s->height[o] < next) next = y + (uint64_t)s->height[o];
        }
        filled += s->height[o];
    }
    if (s->rivals[cell] != rivals) set(s, &s->rivals[cell], rivals);
    if (s->lowest[members[count - 1]] > floor + waste)
        for (uint32_t k = count; k-- > 0;) {
            uint32_t o = members[k];
            if (s->lowest[o] <= floor + waste) break;
            if (s->lowest[o] >= next) continue;
            if (!pack_raise(s, o, next > DEAD ? DEAD : next)) return false;
        }
    return true;
}

bool pack_propagate(ExactSearch *s) {
    while (s->queued) {
        uint32_t cell = s->queue[--s->queued];
        s->dirty[cell] = 0;
        if (!tighten(s, cell)) return false;
    }
    return true;
}

void pack_drop_queue(ExactSearch *s) {
    while (s->queued)
        s->dirty[s->queue[--s->queued]] = 0;
}

/* The item has no other option and leaves its cells' members; their floors are its top. */
static bool take_cells(ExactSearch *s, uint32_t option, uint32_t top) {
    uint32_t item = s->owner[option];
    for (uint32_t o = s->item_options[item]; o < s->item_options[item + 1]; o++)
        if (o != option && s->lowest[o] != DEAD) set_lowest(s, o, DEAD);
    if (s->columns > 1 && !recount(s, item)) return false;
    for (uint32_t k = s->option_cells[option]; k < s->option_cells[option + 1]; k++) {
        set(s, &s->floor[s->cell_list[k]], top);
        pack_mark(s, s->cell_list[k]);
    }
    set_lowest(s, option, DEAD);
    return true;
}

bool pack_assign(ExactSearch *s, uint32_t option) {
    uint32_t item = s->owner[option], y = s->lowest[option], top = y + s->height[option];
    if (!take_cells(s, option, top)) return false;
    s->offset[item] = y;
    s->band[item] = s->quadrants[option];
    s->stack[s->placed++] = option;
    uint32_t id = s->part.ids[item];
    const PackGraph *near = s->neighbours;
    s->work += 3 * (near->start[id + 1] - near->start[id]);
    for (uint32_t k = near->start[id]; k < near->start[id + 1]; k++) {
        uint32_t other = s->item_of[near->list[k]];
        if (other == DEAD || s->band[other]) continue;
        for (uint32_t o = s->item_options[other]; o < s->item_options[other + 1]; o++) {
            if (s->lowest[o] == DEAD || !(s->quadrants[o] & s->quadrants[option])) continue;
            if (s->support[o] < top) set(s, &s->support[o], top);
            if (s->lowest[o] < top && !pack_raise(s, o, top)) return false;
        }
    }
    return true;
}

bool pack_supported(const ExactSearch *s, uint32_t option) {
    uint32_t y = s->lowest[option], align = s->align[option];
    if (y == 0 || align_up(s->support[option], align) == y) return true;
    for (uint32_t k = s->option_blocks[option]; k < s->option_blocks[option + 1]; k++)
        if (align_up(s->blocks[k].high, align) == y) return true;
    return false;
}

bool pack_refuse(ExactSearch *s, uint32_t option) {
    uint32_t y = s->lowest[option], align = s->align[option];
    uint64_t next =
        s->shortest[option] == DEAD ? DEAD : align_up((uint64_t)y + s->shortest[option], align);
    for (uint32_t k = s->option_blocks[option]; k < s->option_blocks[option + 1]; k++) {
        uint64_t top = align_up(s->blocks[k].high, align);
        if (top > y && top < next) next = top;
    }
    return pack_raise(s, option, next > DEAD ? DEAD : next);
}

bool pack_refuse_twins(ExactSearch *s, uint32_t option) {
    uint32_t item = s->owner[option], y = s->lowest[option];
    uint32_t which = option - s->item_options[item];
    for (uint32_t t = s->twin[item]; t < s->items && s->twin[t] == s->twin[item]; t++) {
        uint32_t o = s->item_options[t] + which;
        if (s->lowest[o] == y && !pack_refuse(s, o)) return false;
    }
    return true;
}
