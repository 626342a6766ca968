/* Builds what the exact search works on, and its first state. */
#include <string.h>

#include "place/exact/search.h"
#include "support/sort.h"

enum { MOST_MEMBERS = 1 << 22 };

/* Lists by number: list i is items[start[i] .. start[i + 1]). */
typedef struct {
    uint32_t *start, *items;
} Lists;

static Bands bands_of(const PackItem *item) {
    return item->fixed ? (Bands){1, {item->band}} : class_bands(item->class);
}

/* The items of the part, then the fixed ones that some of them overlaps. */
static uint32_t *collect_ids(const ExactSearch *s, uint32_t *count) {
    const PackGraph *neighbours = s->neighbours;
    uint32_t total = s->problem->count;
    uint32_t *ids = RAW_ARRAY(s->scratch, uint32_t, total);
    bool *seen = NEW_ARRAY(s->scratch, bool, total);
    memcpy(ids, s->part.ids, s->part.count * sizeof *ids);
    *count = s->part.count;
    for (uint32_t k = 0; k < s->part.count; k++)
        for (uint32_t e = neighbours->start[ids[k]]; e < neighbours->start[ids[k] + 1]; e++) {
            uint32_t other = neighbours->list[e];
            if (!s->problem->items[other].fixed || seen[other]) continue;
            seen[other] = true;
            ids[(*count)++] = other;
        }
    return ids;
}

/* For each quadrant the set of bands in use that cover it, and all that bands of the part cover. */
static uint8_t cover_quadrants(const ExactSearch *s, const uint32_t *ids, uint32_t count,
                               uint16_t covering[MOST_COLUMNS]) {
    uint8_t own = 0;
    for (uint32_t k = 0; k < count; k++) {
        const PackItem *item = &s->problem->items[ids[k]];
        Bands bands = bands_of(item);
        for (uint32_t b = 0; b < bands.count; b++) {
            if (!item->fixed) own |= bands.masks[b];
            for (uint32_t q = 0; q < MOST_COLUMNS; q++)
                if (bands.masks[b] >> q & 1) covering[q] |= (uint16_t)(1 << bands.masks[b]);
        }
    }
    return own;
}

static void find_columns(ExactSearch *s, const uint32_t *ids, uint32_t count) {
    uint16_t covering[MOST_COLUMNS] = {0};
    uint8_t own = cover_quadrants(s, ids, count, covering);
    for (uint32_t q = 0; q < MOST_COLUMNS; q++) {
        s->column_of[q] = NO_COLUMN;
        if (!(own >> q & 1)) continue;
        for (uint32_t p = 0; p < q; p++)
            if ((own >> p & 1) && covering[p] == covering[q]) s->column_of[q] = s->column_of[p];
        if (s->column_of[q] == NO_COLUMN) s->column_of[q] = (uint8_t)s->columns++;
        s->weight[s->column_of[q]]++;
    }
}

static uint8_t columns_of(const ExactSearch *s, uint8_t quadrants) {
    uint8_t columns = 0;
    for (uint32_t q = 0; q < MOST_COLUMNS; q++)
        if ((quadrants >> q & 1) && s->column_of[q] != NO_COLUMN)
            columns |= (uint8_t)(1 << s->column_of[q]);
    return columns;
}

static uint8_t quadrants_of(const ExactSearch *s, uint8_t columns) {
    uint8_t quadrants = 0;
    for (uint32_t q = 0; q < MOST_COLUMNS; q++)
        if (s->column_of[q] != NO_COLUMN && (columns >> s->column_of[q] & 1))
            quadrants |= (uint8_t)(1 << q);
    return quadrants;
}

/* Quadrants, halves and the whole, each once, as sets of columns. */
static void find_groups(ExactSearch *s) {
    static const uint8_t GROUPS[MOST_GROUPS] = {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF};
    for (uint32_t g = 0; g < MOST_GROUPS; g++) {
        uint8_t columns = columns_of(s, GROUPS[g]);
        bool had = !columns;
        for (uint32_t k = 0; k < s->groups; k++)
            had |= s->group_columns[k] == columns;
        if (had) continue;
        s->group_quadrants[s->groups] = quadrants_of(s, columns);
        s->group_columns[s->groups++] = columns;
    }
}

/* The sections of each item of the problem. */
static Lists list_sections(const ExactSearch *s, const Sections *sections) {
    uint32_t total = s->problem->count, members = sections->start[sections->count];
    Lists lists = {NEW_ARRAY(s->scratch, uint32_t, (size_t)total + 2),
                   RAW_ARRAY(s->scratch, uint32_t, members)};
    for (uint32_t k = 0; k < members; k++)
        lists.start[sections->members[k] + 2]++;
    for (uint32_t i = 0; i < total; i++)
        lists.start[i + 2] += lists.start[i + 1];
    for (uint32_t x = 0; x < sections->count; x++)
        for (uint32_t k = sections->start[x]; k < sections->start[x + 1]; k++)
            lists.items[lists.start[sections->members[k] + 1]++] = x;
    return lists;
}

/* Equal for exchangeable items; seldom for others. */
static uint64_t kind_hash(const ExactSearch *s, Lists lists, uint32_t id) {
    const PackItem *item = &s->problem->items[id];
    uint64_t hash = item->height * 0x9E3779B97F4A7C15u + item->align * 0xBF58476D1CE4E5B9u +
                    item->class * 0x94D049BB133111EBu;
    for (uint32_t e = lists.start[id]; e < lists.start[id + 1]; e++) {
        hash = (hash ^ lists.items[e]) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool exchangeable(const ExactSearch *s, Lists lists, uint32_t a, uint32_t b) {
    const PackItem *x = &s->problem->items[a], *y = &s->problem->items[b];
    uint32_t count = lists.start[a + 1] - lists.start[a];
    return x->height == y->height && x->align == y->align && x->class == y->class &&
           count == lists.start[b + 1] - lists.start[b] &&
           !memcmp(&lists.items[lists.start[a]], &lists.items[lists.start[b]],
                   count * sizeof *lists.items);
}

/* Numbers the items of the part so that exchangeable ones are next to each other. */
static void order_items(ExactSearch *s, Lists lists) {
    uint32_t n = s->part.count;
    SortKey *keys = RAW_ARRAY(s->scratch, SortKey, n);
    for (uint32_t k = 0; k < n; k++)
        keys[k] = (SortKey){kind_hash(s, lists, s->part.ids[k]), s->part.ids[k]};
    sort_keys(keys, n, s->scratch);
    s->items = n;
    s->part.ids = RAW_ARRAY(s->scratch, uint32_t, n);
    s->twin = RAW_ARRAY(s->scratch, uint32_t, n);
    s->item_of = RAW_ARRAY(s->scratch, uint32_t, s->problem->count);
    memset(s->item_of, 0xFF, s->problem->count * sizeof *s->item_of);
    for (uint32_t i = 0; i < n; i++) {
        s->part.ids[i] = keys[i].id;
        s->item_of[keys[i].id] = i;
        bool same = i && exchangeable(s, lists, s->part.ids[i - 1], s->part.ids[i]);
        s->twin[i] = same ? s->twin[i - 1] : i;
    }
}

static void copy_sections(ExactSearch *s, Lists lists) {
    uint32_t count = 0;
    s->item_sections = RAW_ARRAY(s->scratch, uint32_t, (size_t)s->items + 1);
    for (uint32_t i = 0; i < s->items; i++) {
        s->item_sections[i] = count;
        count += lists.start[s->part.ids[i] + 1] - lists.start[s->part.ids[i]];
    }
    s->item_sections[s->items] = count;
    s->section_list = RAW_ARRAY(s->scratch, uint32_t, count);
    for (uint32_t i = 0; i < s->items; i++)
        memcpy(&s->section_list[s->item_sections[i]], &lists.items[lists.start[s->part.ids[i]]],
               (s->item_sections[i + 1] - s->item_sections[i]) * sizeof *s->section_list);
}

static void make_options(ExactSearch *s) {
    size_t most = (size_t)s->items * MOST_BANDS;
    Budget numbers = {.random = 0};
    s->item_options = RAW_ARRAY(s->scratch, uint32_t, (size_t)s->items + 1);
    s->owner = RAW_ARRAY(s->scratch, uint32_t, most);
    s->columns_taken = RAW_ARRAY(s->scratch, uint8_t, most);
    s->quadrants = RAW_ARRAY(s->scratch, uint8_t, most);
    s->height = RAW_ARRAY(s->scratch, uint32_t, most);
    s->align = RAW_ARRAY(s->scratch, uint32_t, most);
    s->factor = RAW_ARRAY(s->scratch, StateKey, most);
    for (uint32_t i = 0; i < s->items; i++) {
        const PackItem *item = &s->problem->items[s->part.ids[i]];
        Bands bands = class_bands(item->class);
        s->item_options[i] = s->options;
        for (uint32_t b = 0; b < bands.count; b++) {
            uint32_t o = s->options++;
            s->owner[o] = i;
            s->columns_taken[o] = columns_of(s, bands.masks[b]);
            s->quadrants[o] = bands.masks[b];
            s->height[o] = item->height;
            s->align[o] = item->align;
            s->factor[o].a = budget_random(&numbers) | 1;
            s->factor[o].b = budget_random(&numbers) | 1;
        }
    }
    s->item_options[s->items] = s->options;
}

static void list_cells(ExactSearch *s) {
    uint32_t count = 0;
    s->option_cells = RAW_ARRAY(s->scratch, uint32_t, (size_t)s->options + 1);
    for (uint32_t o = 0; o < s->options; o++) {
        uint32_t item = s->owner[o];
        s->option_cells[o] = count;
        count += (s->item_sections[item + 1] - s->item_sections[item]) *
                 (uint32_t)__builtin_popcount(s->columns_taken[o]);
    }
    s->option_cells[s->options] = count;
    s->cell_list = RAW_ARRAY(s->scratch, uint32_t, count);
    count = 0;
    for (uint32_t o = 0; o < s->options; o++) {
        uint32_t item = s->owner[o];
        for (uint32_t k = s->item_sections[item]; k < s->item_sections[item + 1]; k++)
            for (uint32_t c = 0; c < s->columns; c++)
                if (s->columns_taken[o] >> c & 1)
                    s->cell_list[count++] = s->section_list[k] * s->columns + c;
    }
}

static void list_members(ExactSearch *s) {
    uint32_t count = s->option_cells[s->options];
    s->cell_members = NEW_ARRAY(s->scratch, uint32_t, (size_t)s->cells + 2);
    s->member_list = RAW_ARRAY(s->scratch, uint32_t, count);
    for (uint32_t k = 0; k < count; k++)
        s->cell_members[s->cell_list[k] + 2]++;
    for (uint32_t c = 0; c < s->cells; c++)
        s->cell_members[c + 2] += s->cell_members[c + 1];
    for (uint32_t o = 0; o < s->options; o++)
        for (uint32_t k = s->option_cells[o]; k < s->option_cells[o + 1]; k++)
            s->member_list[s->cell_members[s->cell_list[k] + 1]++] = o;
}

/* Least heights of what overlaps each option: the least two of each cell tell. */
static void find_shortest(ExactSearch *s) {
    s->shortest = RAW_ARRAY(s->scratch, uint32_t, s->options);
    memset(s->shortest, 0xFF, s->options * sizeof *s->shortest);
    for (uint32_t c = 0; c < s->cells; c++) {
        uint32_t least = DEAD, second = DEAD, holder = DEAD;
        for (uint32_t m = s->cell_members[c]; m < s->cell_members[c + 1]; m++) {
            uint32_t o = s->member_list[m];
            if (s->height[o] < least) {
                second = least;
                least = s->height[o];
                holder = o;
            } else if (s->height[o] < second) {
                second = s->height[o];
            }
        }
        for (uint32_t m = s->cell_members[c]; m < s->cell_members[c + 1]; m++) {
            uint32_t o = s->member_list[m], other = o == holder ? second : least;
            if (other < s->shortest[o]) s->shortest[o] = other;
        }
    }
}

/* The fixed items that each option could overlap, by offset. */
static void list_option_blocks(ExactSearch *s) {
    const PackGraph *neighbours = s->neighbours;
    size_t count = 0, capacity = 0;
    s->option_blocks = RAW_ARRAY(s->scratch, uint32_t, (size_t)s->options + 1);
    for (uint32_t o = 0; o < s->options; o++) {
        uint32_t id = s->part.ids[s->owner[o]];
        SortKey *sorted = NULL;
        size_t fixed = 0, room = 0;
        for (uint32_t e = neighbours->start[id]; e < neighbours->start[id + 1]; e++) {
            const PackItem *other = &s->problem->items[neighbours->list[e]];
            if (!other->fixed || !(other->band & s->quadrants[o])) continue;
            PUSH(s->scratch, sorted, fixed, room, ((SortKey){other->offset, neighbours->list[e]}));
        }
        sort_keys(sorted, fixed, s->scratch);
        s->option_blocks[o] = (uint32_t)count;
        for (size_t k = 0; k < fixed; k++) {
            const PackItem *other = &s->problem->items[sorted[k].id];
            FixedSpan block = {other->offset, other->offset + other->height};
            PUSH(s->scratch, s->blocks, count, capacity, block);
        }
    }
    s->option_blocks[s->options] = (uint32_t)count;
}

static void list_cell_blocks(ExactSearch *s, const Sections *sections) {
    size_t count = 0, capacity = 0;
    s->cell_blocks = RAW_ARRAY(s->scratch, uint32_t, (size_t)s->cells + 1);
    for (uint32_t c = 0; c < s->cells; c++) {
        uint32_t x = c / s->columns;
        s->cell_blocks[c] = (uint32_t)count;
        for (uint32_t k = sections->start[x]; k < sections->start[x + 1]; k++) {
            const PackItem *item = &s->problem->items[sections->members[k]];
            if (!item->fixed || !(columns_of(s, item->band) >> (c % s->columns) & 1)) continue;
            FixedSpan block = {item->offset, item->offset + item->height};
            PUSH(s->scratch, s->cell_block, count, capacity, block);
        }
    }
    s->cell_blocks[s->cells] = (uint32_t)count;
}

static void make_state(ExactSearch *s) {
    Arena *scratch = s->scratch;
    s->lowest = RAW_ARRAY(scratch, uint32_t, s->options);
    s->support = RAW_ARRAY(scratch, uint32_t, s->options);
    s->floor = RAW_ARRAY(scratch, uint32_t, s->cells);
    s->left = RAW_ARRAY(scratch, uint32_t, s->cells);
    s->rivals = RAW_ARRAY(scratch, uint32_t, s->cells);
    s->certain = RAW_ARRAY(scratch, uint32_t, (size_t)s->items * s->groups);
    s->alive = RAW_ARRAY(scratch, uint32_t, s->items);
    s->slack = RAW_ARRAY(scratch, int64_t, (size_t)s->sections * s->groups);
    s->stack = RAW_ARRAY(scratch, uint32_t, s->items);
    s->offset = RAW_ARRAY(scratch, uint32_t, s->items);
    s->band = RAW_ARRAY(scratch, uint8_t, s->items);
    s->queue = RAW_ARRAY(scratch, uint32_t, s->cells);
    s->dirty = NEW_ARRAY(scratch, uint8_t, s->cells);
    s->decisions = RAW_ARRAY(scratch, SearchDecision, (size_t)s->items + 1);
    s->priority = RAW_ARRAY(scratch, double, s->options);
    s->count = NEW_ARRAY(scratch, uint32_t, s->cells);
    s->ready = RAW_ARRAY(scratch, uint32_t, s->options);
    s->urgency = RAW_ARRAY(scratch, uint64_t, s->cells);
    s->judged = NEW_ARRAY(scratch, uint64_t, s->cells);
}

bool pack_build(ExactSearch *s) {
    uint32_t count;
    uint32_t *ids = collect_ids(s, &count);
    PackPart all = {.problem = s->problem, .ids = ids, .count = count};
    Sections sections;
    if (!pack_sections(&all, MOST_MEMBERS, s->scratch, &sections)) return false;
    find_columns(s, ids, count);
    find_groups(s);
    s->sections = sections.count;
    s->cells = s->sections * s->columns;
    Lists lists = list_sections(s, &sections);
    order_items(s, lists);
    copy_sections(s, lists);
    make_options(s);
    list_cells(s);
    list_members(s);
    find_shortest(s);
    list_option_blocks(s);
    list_cell_blocks(s, &sections);
    make_state(s);
    return true;
}

/* All space is slack, but for what is certain to be taken. */
static bool begin_slack(ExactSearch *s) {
    for (uint32_t x = 0; x < s->sections; x++)
        for (uint32_t g = 0; g < s->groups; g++) {
            int64_t space = 0;
            for (uint32_t c = 0; c < s->columns; c++)
                if (s->group_columns[g] >> c & 1)
                    space += s->weight[c] *
                             pack_free_between(s, x * s->columns + c, 0, s->part.capacity);
            s->slack[x * s->groups + g] = space;
        }
    for (uint32_t i = 0; i < s->items; i++)
        for (uint32_t g = 0; g < s->groups; g++) {
            uint32_t certain = pack_least_share(s, i, g);
            s->certain[i * s->groups + g] = certain;
            int64_t area = (int64_t)certain * s->height[s->item_options[i]];
            for (uint32_t k = s->item_sections[i]; k < s->item_sections[i + 1]; k++)
                s->slack[s->section_list[k] * s->groups + g] -= area;
        }
    for (uint32_t k = 0; k < s->sections * s->groups; k++)
        if (s->slack[k] < 0) return false;
    return true;
}

bool pack_begin(ExactSearch *s, uint32_t capacity) {
    s->part.capacity = capacity;
    s->nchanges = s->nslack = 0;
    s->depth = s->placed = 0;
    s->key = (StateKey){capacity + 1u, 1}; /* never that of an empty slot */
    pack_drop_queue(s);
    memset(s->support, 0, s->options * sizeof *s->support);
    memset(s->lowest, 0, s->options * sizeof *s->lowest);
    memset(s->floor, 0, s->cells * sizeof *s->floor);
    memset(s->rivals, 0, s->cells * sizeof *s->rivals);
    memset(s->band, 0, s->items * sizeof *s->band);
    for (uint32_t c = 0; c < s->cells; c++)
        s->left[c] = s->cell_members[c + 1] - s->cell_members[c];
    for (uint32_t i = 0; i < s->items; i++)
        s->alive[i] = s->item_options[i + 1] - s->item_options[i];
    if (!begin_slack(s)) return false;
    for (uint32_t o = 0; o < s->options; o++)
        if (!pack_raise(s, o, 0)) return false;
    for (uint32_t c = 0; c < s->cells; c++)
        pack_mark(s, c);
    return true;
}
