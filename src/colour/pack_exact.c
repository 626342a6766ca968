/* The exact search: depth first over bottom-justified placements, lowest place first. */
#include <string.h>

#include "colour/pack_internal.h"
#include "support/sort.h"

enum { MOST_COLUMNS = 4, MOST_GROUPS = 7, MEMO_BITS = 18 };
#define DEAD UINT32_MAX

typedef struct {
    uint32_t low, high;
} Block;

typedef struct {
    uint32_t *where;
    uint32_t old;
} Change;

typedef struct {
    int64_t *where;
    int64_t old;
} SlackChange;

typedef struct {
    uint64_t a, b;
} Key;

typedef struct {
    uint32_t option, level;
    uint32_t changes, slack_changes, placed;
    bool keyed;
    Key key, before;
} Decision;

typedef struct {
    const PackProblem *problem;
    Part part;
    Effort *effort;

    /* Shape, constant. */
    uint32_t items, options, sections, cells, columns, groups;
    uint8_t column_of[4];         /* [quadrant] column, 255: none */
    uint8_t group[MOST_GROUPS];   /* columns */
    uint8_t group_quadrants[MOST_GROUPS];
    uint8_t weight[MOST_COLUMNS]; /* quadrants of each column */
    uint32_t *item_options;       /* [items + 1] */
    uint32_t *item_sections, *section_list; /* [items + 1], [...] */
    uint32_t *twin;               /* [items] first item that is exchangeable with this one */
    uint32_t *owner;              /* [options] item */
    uint8_t *mask, *quadrants;    /* [options] columns; quadrants */
    uint32_t *height, *align;     /* [options] */
    uint32_t *shortest;           /* [options] least height of a neighbour */
    uint32_t *option_cells, *cell_list;   /* [options + 1], cells of each */
    uint32_t *cell_members, *member_list; /* [cells + 1], options of each */
    uint32_t *option_blocks;              /* [options + 1] */
    Block *blocks;
    uint32_t *cell_blocks; /* [cells + 1] */
    Block *cell_block;
    Key *factor;           /* [options] */

    /* State. */
    uint32_t *lowest;   /* [options] no lower place; DEAD: cannot stand here, or is placed */
    uint32_t *support;  /* [options] highest top below it of what is placed */
    uint32_t *floor;    /* [cells] */
    uint32_t *certain;  /* [items * groups] */
    uint32_t *alive;    /* [items] */
    int64_t *slack;     /* [sections * groups] */
    uint32_t *offset;   /* [items] */
    uint8_t *chosen;    /* [items] quadrants; 0 unplaced */
    uint32_t *stack;    /* [items] placed options */
    uint32_t placed;
    Key key;
    uint32_t *queue, queued;
    uint8_t *dirty;     /* [cells] */
    Change *changes;
    size_t nchanges, change_capacity;
    SlackChange *slack_changes;
    size_t nslack, slack_capacity;
    Decision *decisions; /* [items + 1] */
    uint32_t depth;
    Key *memo;
    Arena *scratch;
    uint64_t work;

    /* Guidance. */
    double *priority; /* [options] */
    uint32_t *domain;   /* [cells] */
    uint32_t *count;    /* [cells] */
    uint32_t *ready;    /* [options] */
    uint32_t mode;
} Search;

/* ---- changes ---- */
static void set(Search *s, uint32_t *where, uint32_t value) {
    PUSH(s->scratch, s->changes, s->nchanges, s->change_capacity, ((Change){where, *where}));
    *where = value;
}

static void add_slack(Search *s, uint32_t at, int64_t delta) {
    int64_t *where = &s->slack[at];
    PUSH(s->scratch, s->slack_changes, s->nslack, s->slack_capacity,
         ((SlackChange){where, *where}));
    *where += delta;
}

static void undo(Search *s, size_t changes, size_t slack_changes) {
    while (s->nchanges > changes) {
        Change change = s->changes[--s->nchanges];
        *change.where = change.old;
    }
    while (s->nslack > slack_changes) {
        SlackChange change = s->slack_changes[--s->nslack];
        *change.where = change.old;
    }
}

static void mark(Search *s, uint32_t cell) {
    if (s->dirty[cell]) return;
    s->dirty[cell] = 1;
    s->queue[s->queued++] = cell;
}

/* Quadrants of a group that an option takes. */
static uint32_t share_of(const Search *s, uint32_t option, uint32_t g) {
    return (uint32_t)__builtin_popcount(s->quadrants[option] & s->group_quadrants[g]);
}

static int64_t waste_left(const Search *s, uint32_t cell) {
    uint32_t section = cell / s->columns, column = cell % s->columns;
    if (s->columns == 1) return s->slack[section] / s->weight[0];
    int64_t least = INT64_MAX;
    for (uint32_t g = 0; g < s->groups; g++)
        if (s->group[g] >> column & 1) {
            int64_t slack = s->slack[section * s->groups + g];
            if (slack < least) least = slack;
        }
    return least / s->weight[column];
}

static uint32_t next_free(const Search *s, uint32_t option, uint64_t y) {
    uint32_t height = s->height[option], align = s->align[option];
    if (align > 1) y = align_up(y, align);
    for (uint32_t k = s->option_blocks[option]; k < s->option_blocks[option + 1]; k++) {
        if (y + height <= s->blocks[k].low) break;
        if (s->blocks[k].high > y) y = align_up(s->blocks[k].high, align);
    }
    return y + height <= s->part.capacity ? (uint32_t)y : DEAD;
}

/* The least share of a group over the options that are left. */
static bool recount(Search *s, uint32_t item) {
    for (uint32_t g = 0; g < s->groups; g++) {
        uint32_t least = MOST_COLUMNS;
        for (uint32_t o = s->item_options[item]; o < s->item_options[item + 1]; o++) {
            if (s->lowest[o] == DEAD) continue;
            uint32_t share = share_of(s, o, g);
            if (share < least) least = share;
        }
        uint32_t *had = &s->certain[item * s->groups + g];
        if (least == *had) continue;
        int64_t more = (int64_t)(least - *had) * s->height[s->item_options[item]];
        set(s, had, least);
        for (uint32_t k = s->item_sections[item]; k < s->item_sections[item + 1]; k++) {
            uint32_t section = s->section_list[k];
            add_slack(s, section * s->groups + g, -more);
            if (s->slack[section * s->groups + g] < 0) {
                return false;
            }
            for (uint32_t c = 0; c < s->columns; c++)
                if (s->group[g] >> c & 1) mark(s, section * s->columns + c);
        }
        s->work += 3 * (s->item_sections[item + 1] - s->item_sections[item]);
    }
    return true;
}

static void set_lowest(Search *s, uint32_t option, uint32_t y) {
    uint32_t old = s->lowest[option];
    s->key.a += s->factor[option].a * (uint64_t)(y - (uint64_t)old);
    s->key.b += s->factor[option].b * (uint64_t)(y - (uint64_t)old);
    set(s, &s->lowest[option], y);
    for (uint32_t k = s->option_cells[option]; k < s->option_cells[option + 1]; k++) {
        uint32_t cell = s->cell_list[k];
        if ((int64_t)old - s->floor[cell] <= waste_left(s, cell)) mark(s, cell);
    }
    s->work += s->option_cells[option + 1] - s->option_cells[option];
}

/* Raises the lowest place of an option to `y` or the next that is free. */
static bool raise(Search *s, uint32_t option, uint64_t y) {
    uint32_t place = next_free(s, option, y);
    if (place == s->lowest[option]) return true;
    uint32_t item = s->owner[option];
    set_lowest(s, option, place);
    if (place != DEAD) return true;
    set(s, &s->alive[item], s->alive[item] - 1);
    if (!s->alive[item]) {
        return false;
    }
    return s->columns == 1 || recount(s, item);
}

static int64_t free_between(const Search *s, uint32_t cell, uint32_t low, uint32_t high) {
    int64_t space = (int64_t)high - low;
    for (uint32_t k = s->cell_blocks[cell]; k < s->cell_blocks[cell + 1]; k++) {
        uint32_t from = s->cell_block[k].low > low ? s->cell_block[k].low : low;
        uint32_t to = s->cell_block[k].high < high ? s->cell_block[k].high : high;
        if (from < to) space -= to - from;
    }
    return space;
}

static bool raise_floor(Search *s, uint32_t cell, uint32_t y) {
    uint32_t section = cell / s->columns, column = cell % s->columns;
    int64_t waste = free_between(s, cell, s->floor[cell], y);
    set(s, &s->floor[cell], y);
    if (!waste) return true;
    for (uint32_t g = 0; g < s->groups; g++) {
        if (!(s->group[g] >> column & 1)) continue;
        add_slack(s, section * s->groups + g, -waste * s->weight[column]);
        if (s->slack[section * s->groups + g] < 0) {
            return false;
        }
    }
    if (s->columns > 1)
        for (uint32_t c = 0; c < s->columns; c++)
            mark(s, section * s->columns + c);
    return true;
}

/* Sorts the members of a cell by their lowest places; what is dead or placed ends up last. The
 * lists are nearly sorted already. Returns how many are left. */
static uint32_t sort_members(Search *s, uint32_t cell) {
    uint32_t *members = s->member_list + s->cell_members[cell];
    uint32_t count = s->cell_members[cell + 1] - s->cell_members[cell];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t o = members[i], y = s->lowest[o], k = i;
        for (; k && s->lowest[members[k - 1]] > y; k--)
            members[k] = members[k - 1];
        members[k] = o;
        s->work += i - k;
    }
    while (count && s->lowest[members[count - 1]] == DEAD)
        count--;
    return count;
}

/* What stands next in a cell: raises its floor, and those that cannot be next above one that can. */
static bool tighten(Search *s, uint32_t cell) {
    const uint32_t *members = s->member_list + s->cell_members[cell];
    uint32_t count = sort_members(s, cell);
    s->work += s->cell_members[cell + 1] - s->cell_members[cell] + 1;
    uint32_t floor = count ? s->lowest[members[0]] : s->part.capacity;
    if (floor > s->floor[cell] && !raise_floor(s, cell, floor)) return false;
    if (!count) return true;
    floor = s->floor[cell];
    uint64_t waste = (uint64_t)waste_left(s, cell);
    uint64_t next = UINT64_MAX, filled = 0, idle = 0;
    uint32_t domain = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t o = members[k], y = s->lowest[o];
        if (y > floor + filled + idle) {
            uint64_t space = (uint64_t)free_between(s, cell, floor, y);
            if (space > filled + idle) idle = space - filled;
            if (idle > waste) {
                return false;
            }
        }
        if (y <= floor + waste) {
            domain++;
            if (y + (uint64_t)s->height[o] < next) next = y + (uint64_t)s->height[o];
        }
        filled += s->height[o];
    }
    if (s->domain[cell] != domain) set(s, &s->domain[cell], domain);
    if (s->lowest[members[count - 1]] > floor + waste)
        for (uint32_t k = count; k-- > 0;) {
            uint32_t o = members[k];
            if (s->lowest[o] <= floor + waste) break;
            if (s->lowest[o] >= next) continue;
            if (!raise(s, o, next > DEAD ? DEAD : next)) return false;
        }
    return true;
}

static bool settle(Search *s) {
    while (s->queued) {
        uint32_t cell = s->queue[--s->queued];
        s->dirty[cell] = 0;
        if (!tighten(s, cell)) {
            while (s->queued)
                s->dirty[s->queue[--s->queued]] = 0;
            return false;
        }
    }
    return true;
}

static void drop_queue(Search *s) {
    while (s->queued)
        s->dirty[s->queue[--s->queued]] = 0;
}

static bool place(Search *s, uint32_t option) {
    uint32_t item = s->owner[option], y = s->lowest[option];
    for (uint32_t o = s->item_options[item]; o < s->item_options[item + 1]; o++)
        if (o != option && s->lowest[o] != DEAD) set_lowest(s, o, DEAD);
    if (s->columns > 1 && !recount(s, item)) return false;
    uint32_t top = y + s->height[option];
    for (uint32_t k = s->option_cells[option]; k < s->option_cells[option + 1]; k++) {
        set(s, &s->floor[s->cell_list[k]], top);
        mark(s, s->cell_list[k]);
    }
    s->key.a += s->factor[option].a * (uint64_t)(DEAD - (uint64_t)y);
    s->key.b += s->factor[option].b * (uint64_t)(DEAD - (uint64_t)y);
    set(s, &s->lowest[option], DEAD);
    s->offset[item] = y;
    s->chosen[item] = s->quadrants[option];
    s->stack[s->placed++] = option;
    for (uint32_t k = s->option_cells[option]; k < s->option_cells[option + 1]; k++) {
        uint32_t cell = s->cell_list[k];
        s->work += s->cell_members[cell + 1] - s->cell_members[cell] + 2;
        for (uint32_t m = s->cell_members[cell]; m < s->cell_members[cell + 1]; m++) {
            uint32_t o = s->member_list[m];
            if (s->lowest[o] == DEAD) continue;
            if (s->support[o] < top) set(s, &s->support[o], top);
            if (s->lowest[o] < top && !raise(s, o, top)) return false;
        }
    }
    return true;
}

static bool supported(const Search *s, uint32_t option) {
    uint32_t y = s->lowest[option], align = s->align[option];
    if (y == 0 || align_up(s->support[option], align) == y) return true;
    for (uint32_t k = s->option_blocks[option]; k < s->option_blocks[option + 1]; k++)
        if (align_up(s->blocks[k].high, align) == y) return true;
    return false;
}

static bool refuse_one(Search *s, uint32_t option) {
    uint32_t y = s->lowest[option], align = s->align[option];
    uint64_t next = s->shortest[option] == DEAD
                        ? DEAD
                        : align_up((uint64_t)y + s->shortest[option], align);
    for (uint32_t k = s->option_blocks[option]; k < s->option_blocks[option + 1]; k++) {
        uint64_t top = align_up(s->blocks[k].high, align);
        if (top > y && top < next) next = top;
    }
    return raise(s, option, next > DEAD ? DEAD : next);
}

/* The option does not stand at its lowest place; nor do its twins. */
static bool refuse(Search *s, uint32_t option) {
    uint32_t item = s->owner[option], y = s->lowest[option];
    uint32_t which = option - s->item_options[item];
    for (uint32_t t = s->twin[item]; t != DEAD; t = t + 1 < s->items && s->twin[t + 1] == s->twin[item] ? t + 1 : DEAD) {
        uint32_t o = s->item_options[t] + which;
        if (s->lowest[o] == y && !refuse_one(s, o)) return false;
    }
    return true;
}

/* ---- memo ---- */
static Key state_key(const Search *s) {
    Key key = s->key;
    /* support flags of what is at its lowest place matter too */
    for (uint32_t o = 0; o < s->options; o++) {
        if (s->lowest[o] == DEAD || s->lowest[o] == 0) continue;
        if (align_up(s->support[o], s->align[o]) == s->lowest[o]) {
            key.a += s->factor[o].b * 0x9E3779B97F4A7C15u;
            key.b += s->factor[o].a * 0xD6E8FEB86659FD93u;
        }
    }
    return key;
}

static bool memo_has(const Search *s, Key key) {
    const Key *slot = &s->memo[(key.a >> 7 ^ key.b) & ((1u << MEMO_BITS) - 2)];
    return (slot[0].a == key.a && slot[0].b == key.b) || (slot[1].a == key.a && slot[1].b == key.b);
}

static void memo_add(Search *s, Key key) {
    Key *slot = &s->memo[(key.a >> 7 ^ key.b) & ((1u << MEMO_BITS) - 2)];
    slot[1] = slot[0];
    slot[0] = key;
}

/* ---- search ---- */
/* Keeps the ready options at the lowest level only, and counts them by cell. */
static uint32_t keep_lowest(Search *s, uint32_t nready) {
    uint32_t level = DEAD, kept = 0;
    for (uint32_t k = 0; k < nready; k++)
        if (s->lowest[s->ready[k]] < level) level = s->lowest[s->ready[k]];
    for (uint32_t k = 0; k < nready; k++)
        if (s->lowest[s->ready[k]] == level) s->ready[kept++] = s->ready[k];
    for (uint32_t k = 0; k < kept; k++) {
        uint32_t o = s->ready[k];
        for (uint32_t i = s->option_cells[o]; i < s->option_cells[o + 1]; i++)
            s->count[s->cell_list[i]]++;
    }
    return kept;
}

static uint32_t choose(Search *s, uint32_t nready) {
    bool low = s->mode == 0;
    if (low) nready = keep_lowest(s, nready);
    const uint32_t *rivals = low ? s->count : s->domain;
    uint64_t least = UINT64_MAX;
    uint32_t best = DEAD, best_cell = 0;
    for (uint32_t k = 0; k < nready; k++) {
        uint32_t o = s->ready[k];
        s->work += (low ? 3 : 1) * (s->option_cells[o + 1] - s->option_cells[o]);
        for (uint32_t i = s->option_cells[o]; i < s->option_cells[o + 1]; i++) {
            uint32_t cell = s->cell_list[i];
            uint64_t waste = (uint64_t)waste_left(s, cell);
            uint64_t score = ((uint64_t)rivals[cell] + (waste > 0)) << 32;
            score += waste > UINT32_MAX ? UINT32_MAX : waste;
            if (score < least || (score == least && cell == best_cell &&
                                  s->priority[o] > s->priority[best])) {
                least = score;
                best = o;
                best_cell = cell;
            }
        }
    }
    if (low)
        for (uint32_t k = 0; k < nready; k++) {
            uint32_t o = s->ready[k];
            for (uint32_t i = s->option_cells[o]; i < s->option_cells[o + 1]; i++)
                s->count[s->cell_list[i]] = 0;
        }
    return best;
}

static bool is_ready(const Search *s, uint32_t option) {
    uint32_t y = s->lowest[option];
    for (uint32_t i = s->option_cells[option]; i < s->option_cells[option + 1]; i++)
        if (s->floor[s->cell_list[i]] != y) return false;
    return true;
}

typedef enum { STEP_OPEN, STEP_FAILED, STEP_FOUND } Step;

/* Draws all conclusions; the next option to branch on is in *option. */
static Step advance(Search *s, uint32_t *option) {
    for (;;) {
        if (!settle(s)) return STEP_FAILED;
        if (s->placed == s->items) return STEP_FOUND;
        uint32_t nready = 0;
        bool moved = false;
        s->work += s->options;
        for (uint32_t o = 0; o < s->options; o++) {
            if (s->lowest[o] == DEAD || !is_ready(s, o)) continue;
            if (supported(s, o)) {
                s->ready[nready++] = o;
            } else {
                moved = true;
                if (!refuse_one(s, o)) return STEP_FAILED;
            }
        }
        if (moved) continue;
        *option = choose(s, nready);
        return STEP_OPEN;
    }
}

/* Back to the state before the last decision; its option is refused there. False: no decision is
 * left. */
static bool backtrack(Search *s) {
    for (;;) {
        drop_queue(s);
        if (!s->depth) return false;
        Decision *decision = &s->decisions[--s->depth];
        if (decision->keyed) memo_add(s, decision->key);
        undo(s, decision->changes, decision->slack_changes);
        s->key = decision->before;
        while (s->placed > decision->placed)
            s->chosen[s->owner[s->stack[--s->placed]]] = 0;
        if (refuse(s, decision->option)) return true;
    }
}

static PackStatus search(Search *s, uint64_t nodes) {
    uint64_t n = 0;
    bool fresh = false; /* the state is the first below the last decision */
    for (;;) {
        uint32_t option = 0;
        s->work = 0;
        Step step = advance(s, &option);
        if (step == STEP_FOUND) return PACK_FOUND;
        if (step == STEP_OPEN) {
            Key key = state_key(s);
            s->work += s->options;
            if (memo_has(s, key)) {
                step = STEP_FAILED;
            } else {
                if (fresh) {
                    s->decisions[s->depth - 1].keyed = true;
                    s->decisions[s->depth - 1].key = key;
                }
                s->decisions[s->depth++] =
                    (Decision){.option = option, .level = s->lowest[option],
                               .changes = (uint32_t)s->nchanges,
                               .slack_changes = (uint32_t)s->nslack, .placed = s->placed,
                               .before = s->key};
                fresh = true;
                if (!place(s, option)) step = STEP_FAILED;
            }
        }
        if (step == STEP_FAILED) {
            if (!backtrack(s)) return PACK_IMPOSSIBLE;
            fresh = false;
        }
        if (!effort_spend(s->effort, s->work) || ++n > nodes) return PACK_GAVE_UP;
    }
}

/* ---- setup ---- */
enum { MOST_MEMBERS = 1 << 22 };

static void find_columns(Search *s, const uint32_t *ids, uint32_t count) {
    uint8_t masks[CLASS_COUNT * MOST_BANDS + 16];
    uint32_t nmasks = 0;
    bool seen[16] = {false};
    uint8_t own = 0;
    for (uint32_t k = 0; k < count; k++) {
        const PackItem *item = &s->problem->items[ids[k]];
        Bands bands = class_bands(item->class);
        if (item->fixed) bands = (Bands){1, {item->band}};
        for (uint32_t b = 0; b < bands.count; b++) {
            if (!item->fixed) own |= bands.masks[b];
            if (!seen[bands.masks[b]]) masks[nmasks++] = bands.masks[b];
            seen[bands.masks[b]] = true;
        }
    }
    /* Quadrants that no band tells apart are one column. */
    uint32_t signature[4];
    for (uint32_t q = 0; q < 4; q++) {
        s->column_of[q] = 255;
        if (!(own >> q & 1)) continue;
        signature[q] = 0;
        for (uint32_t m = 0; m < nmasks; m++)
            signature[q] |= (uint32_t)(masks[m] >> q & 1) << m;
        for (uint32_t p = 0; p < q && s->column_of[q] == 255; p++)
            if (s->column_of[p] != 255 && signature[p] == signature[q])
                s->column_of[q] = s->column_of[p];
        if (s->column_of[q] == 255) s->column_of[q] = (uint8_t)s->columns++;
    }
}

static uint8_t columns_of(const Search *s, uint8_t quadrants) {
    uint8_t columns = 0;
    for (uint32_t q = 0; q < 4; q++)
        if ((quadrants >> q & 1) && s->column_of[q] != 255)
            columns |= (uint8_t)(1 << s->column_of[q]);
    return columns;
}

static void find_groups(Search *s) {
    for (uint32_t q = 0; q < 4; q++)
        if (s->column_of[q] != 255) s->weight[s->column_of[q]]++;
    static const uint8_t GROUPS[] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};
    for (uint32_t g = 0; g < MOST_GROUPS; g++) {
        uint8_t columns = columns_of(s, GROUPS[g]);
        bool had = !columns;
        for (uint32_t k = 0; k < s->groups; k++)
            had |= s->group[k] == columns;
        if (had) continue;
        for (uint32_t q = 0; q < 4; q++)
            if (s->column_of[q] != 255 && (columns >> s->column_of[q] & 1))
                s->group_quadrants[s->groups] |= (uint8_t)(1 << q);
        s->group[s->groups++] = columns;
    }
}

static bool build(Search *s, const Neighbours *neighbours, Arena *scratch) {
    const PackProblem *problem = s->problem;
    uint32_t n = s->part.count, total = problem->count;
    uint32_t *ids = RAW_ARRAY(scratch, uint32_t, total);
    uint8_t *seen = NEW_ARRAY(scratch, uint8_t, total);
    memcpy(ids, s->part.ids, n * sizeof *ids);
    uint32_t count = n;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = neighbours->start[ids[k]]; e < neighbours->start[ids[k] + 1]; e++) {
            uint32_t other = neighbours->list[e];
            if (!problem->items[other].fixed || seen[other]) continue;
            seen[other] = 1;
            ids[count++] = other;
        }
    find_columns(s, ids, count);
    find_groups(s);
    Sections sections;
    if (!pack_sections(problem, ids, count, MOST_MEMBERS, scratch, &sections)) return false;
    s->items = n;
    s->sections = sections.count;
    s->cells = s->sections * s->columns;

    /* Sections of each item. */
    uint32_t *start = NEW_ARRAY(scratch, uint32_t, total + 2);
    uint32_t *list = RAW_ARRAY(scratch, uint32_t, sections.start[sections.count]);
    for (uint32_t k = 0; k < sections.start[sections.count]; k++)
        start[sections.members[k] + 2]++;
    for (uint32_t k = 0; k < total; k++)
        start[k + 2] += start[k + 1];
    for (uint32_t x = 0; x < sections.count; x++)
        for (uint32_t k = sections.start[x]; k < sections.start[x + 1]; k++)
            list[start[sections.members[k] + 1]++] = x;

    /* Exchangeable items side by side. */
    SortKey *keys = RAW_ARRAY(scratch, SortKey, n);
    for (uint32_t k = 0; k < n; k++) {
        const PackItem *item = &problem->items[s->part.ids[k]];
        uint64_t h = item->height * 0x9E3779B97F4A7C15u + item->align * 0xBF58476D1CE4E5B9u +
                     item->class * 0x94D049BB133111EBu;
        for (uint32_t e = start[s->part.ids[k]]; e < start[s->part.ids[k] + 1]; e++)
            h = (h ^ list[e]) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
        keys[k] = (SortKey){h, s->part.ids[k]};
    }
    sort_keys(keys, n, scratch);
    uint32_t *id_of = RAW_ARRAY(scratch, uint32_t, n);
    for (uint32_t k = 0; k < n; k++)
        id_of[k] = keys[k].id;
    s->part.ids = id_of;

    s->twin = RAW_ARRAY(scratch, uint32_t, n);
    s->item_options = RAW_ARRAY(scratch, uint32_t, n + 1);
    s->item_sections = RAW_ARRAY(scratch, uint32_t, n + 1);
    uint32_t no = 0, ns = 0, nc = 0;
    for (uint32_t i = 0; i < n; i++) {
        const PackItem *item = &problem->items[id_of[i]];
        Bands bands = class_bands(item->class);
        uint32_t len = start[id_of[i] + 1] - start[id_of[i]];
        no += bands.count;
        ns += len;
        for (uint32_t b = 0; b < bands.count; b++)
            nc += len * (uint32_t)__builtin_popcount(columns_of(s, bands.masks[b]));
    }
    s->options = no;
    s->section_list = RAW_ARRAY(scratch, uint32_t, ns);
    s->owner = RAW_ARRAY(scratch, uint32_t, no);
    s->mask = RAW_ARRAY(scratch, uint8_t, no);
    s->quadrants = RAW_ARRAY(scratch, uint8_t, no);
    s->height = RAW_ARRAY(scratch, uint32_t, no);
    s->align = RAW_ARRAY(scratch, uint32_t, no);
    s->shortest = RAW_ARRAY(scratch, uint32_t, no);
    s->option_cells = RAW_ARRAY(scratch, uint32_t, no + 1);
    s->cell_list = RAW_ARRAY(scratch, uint32_t, nc);
    s->option_blocks = RAW_ARRAY(scratch, uint32_t, no + 1);
    s->factor = RAW_ARRAY(scratch, Key, no);
    s->priority = NEW_ARRAY(scratch, double, no);
    Effort stream = {.random = 12345};
    no = ns = nc = 0;
    uint32_t nb = 0, cb = 0;
    for (uint32_t i = 0; i < n; i++) {
        const PackItem *item = &problem->items[id_of[i]];
        Bands bands = class_bands(item->class);
        s->item_options[i] = no;
        s->item_sections[i] = ns;
        uint32_t first = start[id_of[i]], last = start[id_of[i] + 1];
        for (uint32_t e = first; e < last; e++)
            s->section_list[ns++] = list[e];
        s->twin[i] = i;
        if (i) {
            const PackItem *other = &problem->items[id_of[i - 1]];
            uint32_t a = s->item_sections[i - 1];
            if (other->height == item->height && other->align == item->align &&
                other->class == item->class && s->item_sections[i] - a == last - first &&
                !memcmp(&s->section_list[a], &list[first], (last - first) * sizeof *list))
                s->twin[i] = s->twin[i - 1];
        }
        for (uint32_t b = 0; b < bands.count; b++, no++) {
            s->owner[no] = i;
            s->mask[no] = columns_of(s, bands.masks[b]);
            s->quadrants[no] = bands.masks[b];
            s->height[no] = item->height;
            s->align[no] = item->align;
            s->factor[no].a = effort_random(&stream) | 1;
            s->factor[no].b = effort_random(&stream) | 1;
            s->option_cells[no] = nc;
            for (uint32_t e = first; e < last; e++)
                for (uint32_t c = 0; c < s->columns; c++)
                    if (s->mask[no] >> c & 1) s->cell_list[nc++] = list[e] * s->columns + c;
            s->option_blocks[no] = nb;
            for (uint32_t e = neighbours->start[id_of[i]]; e < neighbours->start[id_of[i] + 1]; e++) {
                const PackItem *other = &problem->items[neighbours->list[e]];
                if (other->fixed && (other->band & bands.masks[b])) nb++;
            }
        }
    }
    s->item_options[n] = s->option_cells[no] = 0;
    s->item_options[n] = no;
    s->item_sections[n] = ns;
    s->option_cells[no] = nc;
    s->option_blocks[no] = nb;

    s->blocks = RAW_ARRAY(scratch, Block, nb);
    nb = 0;
    for (uint32_t o = 0; o < no; o++) {
        uint32_t id = id_of[s->owner[o]];
        SortKey *sorted = RAW_ARRAY(scratch, SortKey, s->option_blocks[o + 1] - s->option_blocks[o]);
        uint32_t m = 0;
        for (uint32_t e = neighbours->start[id]; e < neighbours->start[id + 1]; e++) {
            const PackItem *other = &problem->items[neighbours->list[e]];
            if (other->fixed && (other->band & s->quadrants[o]))
                sorted[m++] = (SortKey){other->offset, neighbours->list[e]};
        }
        sort_keys(sorted, m, scratch);
        for (uint32_t k = 0; k < m; k++) {
            const PackItem *other = &problem->items[sorted[k].id];
            s->blocks[nb++] = (Block){other->offset, other->offset + other->height};
        }
    }

    /* Members and fixed blocks of the cells. */
    s->cell_members = NEW_ARRAY(scratch, uint32_t, s->cells + 2);
    s->member_list = RAW_ARRAY(scratch, uint32_t, nc);
    for (uint32_t k = 0; k < nc; k++)
        s->cell_members[s->cell_list[k] + 2]++;
    for (uint32_t c = 0; c < s->cells; c++)
        s->cell_members[c + 2] += s->cell_members[c + 1];
    for (uint32_t o = 0; o < no; o++)
        for (uint32_t k = s->option_cells[o]; k < s->option_cells[o + 1]; k++)
            s->member_list[s->cell_members[s->cell_list[k] + 1]++] = o;
    s->cell_blocks = NEW_ARRAY(scratch, uint32_t, s->cells + 1);
    for (int pass = 0; pass < 2; pass++) {
        cb = 0;
        for (uint32_t x = 0; x < s->sections; x++)
            for (uint32_t c = 0; c < s->columns; c++) {
                s->cell_blocks[x * s->columns + c] = cb;
                for (uint32_t k = sections.start[x]; k < sections.start[x + 1]; k++) {
                    const PackItem *item = &problem->items[sections.members[k]];
                    if (!item->fixed || !(columns_of(s, item->band) >> c & 1)) continue;
                    if (pass)
                        s->cell_block[cb] = (Block){item->offset, item->offset + item->height};
                    cb++;
                }
            }
        s->cell_blocks[s->cells] = cb;
        if (!pass) s->cell_block = RAW_ARRAY(scratch, Block, cb);
    }

    /* State. */
    s->lowest = NEW_ARRAY(scratch, uint32_t, no);
    s->support = NEW_ARRAY(scratch, uint32_t, no);
    s->floor = NEW_ARRAY(scratch, uint32_t, s->cells);
    s->certain = NEW_ARRAY(scratch, uint32_t, (size_t)n * s->groups);
    s->alive = NEW_ARRAY(scratch, uint32_t, n);
    s->slack = NEW_ARRAY(scratch, int64_t, (size_t)s->sections * s->groups);
    s->offset = NEW_ARRAY(scratch, uint32_t, n);
    s->chosen = NEW_ARRAY(scratch, uint8_t, n);
    s->stack = NEW_ARRAY(scratch, uint32_t, n);
    s->queue = RAW_ARRAY(scratch, uint32_t, s->cells);
    s->dirty = NEW_ARRAY(scratch, uint8_t, s->cells);
    s->decisions = RAW_ARRAY(scratch, Decision, (size_t)n + 1);
    s->memo = NEW_ARRAY(scratch, Key, (size_t)1 << MEMO_BITS);
    s->domain = NEW_ARRAY(scratch, uint32_t, s->cells);
    s->count = NEW_ARRAY(scratch, uint32_t, s->cells);
    s->ready = RAW_ARRAY(scratch, uint32_t, no);
    for (uint32_t o = 0; o < no; o++) {
        s->shortest[o] = DEAD;
        for (uint32_t k = s->option_cells[o]; k < s->option_cells[o + 1]; k++) {
            uint32_t c = s->cell_list[k];
            for (uint32_t m = s->cell_members[c]; m < s->cell_members[c + 1]; m++) {
                uint32_t p = s->member_list[m];
                if (s->owner[p] != s->owner[o] && s->height[p] < s->shortest[o])
                    s->shortest[o] = s->height[p];
            }
        }
    }
    return true;
}

/* The state before any decision. False: it is plain that there is no placement. */
static bool begin(Search *s, uint32_t capacity) {
    s->part.capacity = capacity;
    s->nchanges = s->nslack = 0;
    s->depth = s->placed = 0;
    drop_queue(s);
    s->key = (Key){capacity + 1u, 1}; /* never that of an empty slot */
    memset(s->support, 0, s->options * sizeof *s->support);
    memset(s->floor, 0, s->cells * sizeof *s->floor);
    for (uint32_t x = 0; x < s->sections; x++)
        for (uint32_t g = 0; g < s->groups; g++) {
            int64_t space = 0;
            for (uint32_t c = 0; c < s->columns; c++)
                if (s->group[g] >> c & 1)
                    space += s->weight[c] *
                             free_between(s, x * s->columns + c, 0, s->part.capacity);
            s->slack[x * s->groups + g] = space;
        }
    for (uint32_t i = 0; i < s->items; i++) {
        s->alive[i] = s->item_options[i + 1] - s->item_options[i];
        s->chosen[i] = 0;
        for (uint32_t g = 0; g < s->groups; g++) {
            uint32_t least = MOST_COLUMNS;
            for (uint32_t o = s->item_options[i]; o < s->item_options[i + 1]; o++) {
                uint32_t share = share_of(s, o, g);
                if (share < least) least = share;
            }
            s->certain[i * s->groups + g] = least;
            int64_t area = (int64_t)least * s->height[s->item_options[i]];
            for (uint32_t k = s->item_sections[i]; k < s->item_sections[i + 1]; k++)
                s->slack[s->section_list[k] * s->groups + g] -= area;
        }
    }
    for (uint32_t k = 0; k < s->sections * s->groups; k++)
        if (s->slack[k] < 0) return false;
    memset(s->lowest, 0, s->options * sizeof *s->lowest);
    for (uint32_t o = 0; o < s->options; o++)
        if (!raise(s, o, 0)) return false;
    for (uint32_t c = 0; c < s->cells; c++)
        mark(s, c);
    return true;
}

/* Runs differ in what they prefer: large, long or high items, later with noise. */
static void set_priority(Search *s, uint32_t run) {
    enum { KINDS = 4 };
    for (uint32_t o = 0; o < s->options; o++) {
        uint32_t item = s->owner[o];
        double length = s->item_sections[item + 1] - s->item_sections[item];
        double wide = length * __builtin_popcount(s->quadrants[o]);
        const double kinds[KINDS] = {wide * s->height[o], wide, s->height[o],
                                     wide * s->height[o] * length};
        double noise = (double)(effort_random(s->effort) >> 40) / (1 << 24);
        if (run < KINDS) noise = 0;
        s->priority[o] = kinds[run % KINDS] * (1 + noise * (run % 3 ? 1 : 0.3));
    }
}

/* The sequence of Luby, Sinclair and Zuckerman: 1 1 2 1 1 2 4 ..., from index 1. */
static uint64_t luby(uint64_t index) {
    for (;;) {
        uint64_t size = 1;
        while (2 * size - 1 < index)
            size *= 2;
        if (2 * size - 1 == index) return size;
        index -= size - 1;
    }
}

/* The least capacity that the sections allow. */
static uint32_t least_capacity(const Search *s) {
    uint64_t most_short = 0; /* granules that could be missed */
    bool some = false;
    for (uint32_t x = 0; x < s->sections; x++)
        for (uint32_t g = 0; g < s->groups; g++) {
            uint32_t quadrants = (uint32_t)__builtin_popcount(s->group_quadrants[g]);
            uint64_t spare = (uint64_t)s->slack[x * s->groups + g] / quadrants;
            if (!some || spare < most_short) most_short = spare;
            some = true;
        }
    return s->part.capacity - (uint32_t)most_short;
}

/* Capacities to search with: the real one, and smaller ones, where less waste is allowed and more
 * is pruned. They depend on the least one only, so that more room never loses a placement that was
 * found with less but for what the added one costs. */
enum { MOST_CAPACITIES = 8 };

typedef struct {
    uint32_t items[MOST_CAPACITIES];
    uint32_t count;
} Capacities;

static Capacities choose_capacities(const Search *s) {
    static const uint32_t PERMILLE[MOST_CAPACITIES - 1] = {0, 10, 30, 60, 120, 250, 500};
    Capacities capacities = {0};
    uint32_t real = s->part.capacity;
    capacities.items[capacities.count++] = real;
    if (!s->cell_blocks[s->cells]) {
        uint32_t least = least_capacity(s);
        for (uint32_t k = 0; k < MOST_CAPACITIES - 1; k++) {
            uint64_t capacity = least + (uint64_t)least * PERMILLE[k] / 1000;
            if (capacity < real) capacities.items[capacities.count++] = (uint32_t)capacity;
        }
    }
    return capacities;
}

static void drop_capacity(Capacities *capacities, uint32_t k) {
    capacities->count--;
    for (; k < capacities->count; k++)
        capacities->items[k] = capacities->items[k + 1];
}

/* One run after the other with other capacities, modes and priorities, each for longer. */
static PackStatus run_all(Search *s) {
    enum { MODES = 2, SHORTEST_RUN = 500 };
    uint32_t real = s->part.capacity;
    if (!begin(s, real)) return PACK_IMPOSSIBLE;
    Capacities capacities = choose_capacities(s);
    for (uint32_t round = 0;; round++) {
        for (uint32_t k = 0; k < capacities.count * MODES; k++) {
            uint32_t capacity = capacities.items[k / MODES];
            s->mode = k % MODES;
            set_priority(s, round);
            PackStatus status = PACK_IMPOSSIBLE;
            if (begin(s, capacity)) status = search(s, SHORTEST_RUN * luby(round + 1));
            if (status == PACK_FOUND) return status;
            if (status == PACK_IMPOSSIBLE && capacity == real) return status;
            if (status == PACK_IMPOSSIBLE) drop_capacity(&capacities, k / MODES);
            if (s->effort->used >= s->effort->limit) return PACK_GAVE_UP;
        }
    }
}

PackStatus pack_exact(const PackProblem *problem, const Neighbours *neighbours, Part part,
                      Effort *effort, Arena *scratch, Places *places) {
    Search *s = NEW(scratch, Search);
    s->problem = problem;
    s->part = part;
    s->effort = effort;
    s->scratch = scratch;
    if (!build(s, neighbours, scratch)) return PACK_GAVE_UP;
    PackStatus status = run_all(s);
    if (status == PACK_FOUND)
        for (uint32_t i = 0; i < s->items; i++) {
            places->offset[s->part.ids[i]] = s->offset[i];
            places->band[s->part.ids[i]] = s->chosen[i];
        }
    return status;
}
