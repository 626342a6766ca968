/* Joining: items that fill a larger rectangle between them without waste are placed as one. */
#include "place/exact/join.h"

#include <math.h>
#include <string.h>

#include "support/sort.h"

enum { WHEEL = 5 };
#define NO_PIECE UINT32_MAX

/* An item, or what was joined of others. Time is counted in sections. */
struct JoinPiece {
    ShapeClass class;
    uint32_t height, align; /* granules */
    Interval *runs;         /* [count] sections, ascending, not touching */
    uint32_t count;
    uint32_t parts[WHEEL]; /* what it was joined of; none for an item */
    uint32_t nparts;
    uint32_t shift[WHEEL]; /* granules of a part above the piece */
    bool beside;           /* two parts, each in half of its band */
    bool gone;             /* part of another */
};

/* Pieces that could be joined. `score`: how likely it is that they match by chance. */
typedef struct {
    double score; /* expected matches by chance */
    uint32_t parts[WHEEL];
    uint32_t count;
    bool beside;
} JoinMatch;

typedef struct {
    Joined *joined;
    Budget *budget;
    Arena *scratch;
    double noise;
    uint32_t sections;
    SortKey *starts, *ends; /* key: section where a run starts or ends; id: piece */
    size_t nruns;
    uint32_t *first_start, *first_end; /* [sections + 1] */
    JoinMatch *matches;
    size_t nmatches, match_capacity;
} Joiner;

static JoinPiece *piece_of(const Joiner *joiner, uint32_t id) {
    return &joiner->joined->pieces[id];
}

/* ---- who starts and ends where ---- */

static uint32_t *index_by_section(const Joiner *joiner, const SortKey *keys) {
    uint32_t *first = NEW_ARRAY(joiner->scratch, uint32_t, (size_t)joiner->sections + 2);
    for (size_t k = 0; k < joiner->nruns; k++)
        first[keys[k].key + 1]++;
    for (uint32_t x = 0; x <= joiner->sections; x++)
        first[x + 1] += first[x];
    return first;
}

static void list_runs(Joiner *joiner) {
    const Joined *joined = joiner->joined;
    size_t count = 0;
    for (uint32_t i = 0; i < joined->npieces; i++)
        if (!joined->pieces[i].gone) count += joined->pieces[i].count;
    joiner->starts = RAW_ARRAY(joiner->scratch, SortKey, count);
    joiner->ends = RAW_ARRAY(joiner->scratch, SortKey, count);
    joiner->nruns = 0;
    for (uint32_t i = 0; i < joined->npieces; i++) {
        const JoinPiece *piece = &joined->pieces[i];
        for (uint32_t k = 0; k < piece->count && !piece->gone; k++, joiner->nruns++) {
            joiner->starts[joiner->nruns] = (SortKey){piece->runs[k].first, i};
            joiner->ends[joiner->nruns] = (SortKey){piece->runs[k].last, i};
        }
    }
    sort_keys(joiner->starts, count, joiner->scratch);
    sort_keys(joiner->ends, count, joiner->scratch);
    joiner->first_start = index_by_section(joiner, joiner->starts);
    joiner->first_end = index_by_section(joiner, joiner->ends);
    budget_spend(joiner->budget, 8 * count);
}

static uint32_t starting(const Joiner *joiner, uint32_t section) {
    return section >= joiner->sections
               ? 0
               : joiner->first_start[section + 1] - joiner->first_start[section];
}

/* ---- what matches ---- */

static bool same_range(const JoinPiece *a, const JoinPiece *b) {
    return a->count == b->count && !memcmp(a->runs, b->runs, a->count * sizeof *a->runs);
}

static bool disjoint(const JoinPiece *a, const JoinPiece *b) {
    for (uint32_t i = 0, k = 0; i < a->count && k < b->count;) {
        if (a->runs[i].last < b->runs[k].first)
            i++;
        else if (b->runs[k].last < a->runs[i].first)
            k++;
        else
            return false;
    }
    return true;
}

static uint32_t length_of(const JoinPiece *piece) {
    uint32_t length = 0;
    for (uint32_t k = 0; k < piece->count; k++)
        length += piece->runs[k].last - piece->runs[k].first + 1;
    return length;
}

/* Scores are given some noise, so that every try joins otherwise. */
static void add_match(Joiner *joiner, JoinMatch match) {
    enum { MOST_MATCHES = 1 << 20, LATE = 8, MUCH_LATER = 1000 };
    if (joiner->nmatches == MOST_MATCHES) return;
    double random = (double)(budget_random(joiner->budget) >> 40) / (1 << 24);
    bool late = joiner->noise > 0 && budget_random(joiner->budget) % LATE == 0;
    match.score *= late ? MUCH_LATER : 1 + joiner->noise * random;
    PUSH(joiner->scratch, joiner->matches, joiner->nmatches, joiner->match_capacity, match);
}

static bool can_stack(const JoinPiece *low, const JoinPiece *high) {
    return low->height % high->align == 0;
}

static bool is_any_band(ShapeClass class) {
    return class == CLASS_ANY_QUADRANT || class == CLASS_ANY_HALF;
}

/* True if one of the pieces between the bounds has that height, and could follow `like` or be
 * followed. */
static bool has_height(const Joiner *joiner, const SortKey *keys, const uint32_t *bounds,
                       const JoinPiece *like, uint32_t height) {
    for (uint32_t k = bounds[0]; k < bounds[1]; k++) {
        const JoinPiece *other = piece_of(joiner, keys[k].id);
        if (other->class == like->class && other->height == height) return true;
    }
    return false;
}

/* What would be joined might match in turn, which makes it likelier to be right. This is how likely
 * it is by chance that a piece over these sections has another of its height before or after it; 1
 * where it has none. */
static double chance_of_series(const Joiner *joiner, const JoinPiece *like, uint32_t height) {
    uint32_t first = like->runs->first, after = like->runs[like->count - 1].last + 1;
    double chance = height;
    if (after < joiner->sections &&
        has_height(joiner, joiner->starts, &joiner->first_start[after], like, height))
        chance = starting(joiner, after);
    if (first && starting(joiner, first) < chance &&
        has_height(joiner, joiner->ends, &joiner->first_end[first - 1], like, height))
        chance = starting(joiner, first);
    return chance / height;
}

/* The same for another that lives from `first` to `last`. */
static double chance_of_stack(const Joiner *joiner, const JoinPiece *like, uint32_t first,
                              uint32_t last) {
    for (uint32_t s = joiner->first_start[first]; s < joiner->first_start[first + 1]; s++) {
        const JoinPiece *other = piece_of(joiner, joiner->starts[s].id);
        if (other->class != like->class || other->count != 1 || other->runs->last != last) continue;
        double one = (double)starting(joiner, first) / (last - first + 1);
        return one < 1 ? one : 1;
    }
    return 1;
}

/* Two that live at just the same time: on each other, or side by side. */
static void match_alike(Joiner *joiner, uint32_t i, uint32_t k) {
    const JoinPiece *a = piece_of(joiner, i), *b = piece_of(joiner, k);
    if (a->class != b->class || !same_range(a, b)) return;
    double chance = (double)starting(joiner, a->runs->first) / length_of(a);
    if (is_any_band(a->class) && a->height == b->height && a->align == b->align)
        add_match(joiner, (JoinMatch){chance / a->height, {i, k}, 2, true});
    chance *= chance_of_series(joiner, a, a->height + b->height);
    if (can_stack(a, b))
        add_match(joiner, (JoinMatch){chance, {i, k}, 2, false});
    else if (can_stack(b, a))
        add_match(joiner, (JoinMatch){chance, {k, i}, 2, false});
}

/* One after the other in the same place. */
static void match_series(Joiner *joiner, uint32_t i, uint32_t k) {
    const JoinPiece *a = piece_of(joiner, i), *b = piece_of(joiner, k);
    if (i == k || a->class != b->class || a->height != b->height || a->align != b->align) return;
    if (!disjoint(a, b)) return;
    double chance = (double)starting(joiner, b->runs->first) / a->height;
    if (a->count == 1 && b->count == 1)
        chance *= chance_of_stack(joiner, a, a->runs->first, b->runs->last);
    add_match(joiner, (JoinMatch){chance, {i, k}, 2, false});
}

static bool fits_wheel(const JoinPiece *hub, const JoinPiece *wing) {
    return wing->count == 1 && wing->class == hub->class && wing->align == 1;
}

/* The wings of a wheel: `before` ends where the hub starts and lies beside hub and `above`, which
 * starts there; `below` ends with the hub and lies beneath it and `before`; `after` starts then and
 * lies beside `below` and hub. */
typedef struct {
    uint32_t below, before, hub, above, after;
} Wheel;

static void match_last_wing(Joiner *joiner, Wheel wheel) {
    const JoinPiece *below = piece_of(joiner, wheel.below), *hub = piece_of(joiner, wheel.hub);
    const JoinPiece *above = piece_of(joiner, wheel.above);
    uint32_t section = hub->runs->last + 1;
    for (uint32_t s = joiner->first_start[section]; s < joiner->first_start[section + 1]; s++) {
        const JoinPiece *after = piece_of(joiner, joiner->starts[s].id);
        if (!fits_wheel(hub, after) || after->runs->last != above->runs->last ||
            after->height != below->height + hub->height)
            continue;
        JoinMatch match = {.score = 1 / ((double)above->height * after->height), .count = WHEEL};
        const uint32_t parts[WHEEL] = {wheel.below, wheel.before, wheel.hub, wheel.above,
                                       joiner->starts[s].id};
        memcpy(match.parts, parts, sizeof parts);
        add_match(joiner, match);
    }
}

static void match_third_wing(Joiner *joiner, Wheel wheel) {
    const JoinPiece *hub = piece_of(joiner, wheel.hub), *before = piece_of(joiner, wheel.before);
    uint32_t last = hub->runs->last;
    for (uint32_t e = joiner->first_end[last]; e < joiner->first_end[last + 1]; e++) {
        const JoinPiece *below = piece_of(joiner, joiner->ends[e].id);
        wheel.below = joiner->ends[e].id;
        if (fits_wheel(hub, below) && below->runs->first == before->runs->first)
            match_last_wing(joiner, wheel);
    }
}

static void match_wheels(Joiner *joiner, uint32_t id) {
    const JoinPiece *hub = piece_of(joiner, id);
    uint32_t first = hub->runs->first;
    if (!fits_wheel(hub, hub) || first == 0 || hub->runs->last + 1 >= joiner->sections) return;
    uint32_t e = joiner->first_end[first - 1], end = joiner->first_end[first];
    budget_spend(joiner->budget, (uint64_t)(end - e) * starting(joiner, first));
    for (; e < end; e++) {
        const JoinPiece *before = piece_of(joiner, joiner->ends[e].id);
        if (!fits_wheel(hub, before) || before->height <= hub->height) continue;
        for (uint32_t s = joiner->first_start[first]; s < joiner->first_start[first + 1]; s++) {
            const JoinPiece *above = piece_of(joiner, joiner->starts[s].id);
            if (!fits_wheel(hub, above) || above->height != before->height - hub->height) continue;
            match_third_wing(
                joiner,
                (Wheel){.before = joiner->ends[e].id, .hub = id, .above = joiner->starts[s].id});
        }
    }
}

/* Those of the piece whose run starts as number k. */
static void match_from_start(Joiner *joiner, size_t k) {
    uint32_t id = joiner->starts[k].id, section = (uint32_t)joiner->starts[k].key;
    if (piece_of(joiner, id)->runs->first != section) return;
    for (uint32_t s = (uint32_t)k + 1; s < joiner->first_start[section + 1]; s++)
        match_alike(joiner, id, joiner->starts[s].id);
    budget_spend(joiner->budget, 4 * (joiner->first_start[section + 1] - k));
    match_wheels(joiner, id);
}

/* And those of the piece whose run ends as number k with what starts then. */
static void match_from_end(Joiner *joiner, size_t k) {
    uint32_t section = (uint32_t)joiner->ends[k].key + 1;
    if (section >= joiner->sections) return;
    for (uint32_t s = joiner->first_start[section]; s < joiner->first_start[section + 1]; s++)
        match_series(joiner, joiner->ends[k].id, joiner->starts[s].id);
    budget_spend(joiner->budget, 4 * starting(joiner, section));
}

static void find_matches(Joiner *joiner) {
    joiner->nmatches = 0;
    for (size_t k = 0; k < joiner->nruns; k++) {
        match_from_start(joiner, k);
        match_from_end(joiner, k);
    }
}

/* A piece with many matches has few right ones. */
static void weigh_rivals(Joiner *joiner) {
    uint32_t *rivals = NEW_ARRAY(joiner->scratch, uint32_t, joiner->joined->npieces);
    for (size_t m = 0; m < joiner->nmatches; m++)
        for (uint32_t k = 0; k < joiner->matches[m].count; k++)
            rivals[joiner->matches[m].parts[k]]++;
    for (size_t m = 0; m < joiner->nmatches; m++) {
        uint32_t most = 0;
        for (uint32_t k = 0; k < joiner->matches[m].count; k++)
            if (rivals[joiner->matches[m].parts[k]] > most)
                most = rivals[joiner->matches[m].parts[k]];
        joiner->matches[m].score *= most;
    }
}

/* ---- joining ---- */

/* The runs of two pieces that are never live at once; those that touch become one. */
static void join_runs(const JoinPiece *a, const JoinPiece *b, JoinPiece *to, Arena *arena) {
    to->runs = RAW_ARRAY(arena, Interval, (size_t)a->count + b->count);
    to->count = 0;
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        bool from_a = k == b->count || (i < a->count && a->runs[i].first < b->runs[k].first);
        Interval run = from_a ? a->runs[i++] : b->runs[k++];
        if (to->count && to->runs[to->count - 1].last + 1 == run.first)
            to->runs[to->count - 1].last = run.last;
        else
            to->runs[to->count++] = run;
    }
}

static JoinPiece join_wheel(const Joiner *joiner, const JoinMatch *match) {
    const JoinPiece *below = piece_of(joiner, match->parts[0]),
                    *hub = piece_of(joiner, match->parts[2]);
    const JoinPiece *above = piece_of(joiner, match->parts[3]);
    JoinPiece piece = {.class = hub->class, .align = 1, .nparts = WHEEL, .count = 1};
    piece.height = below->height + hub->height + above->height;
    piece.runs = NEW(joiner->scratch, Interval);
    *piece.runs = (Interval){below->runs->first, above->runs->last};
    const uint32_t shift[WHEEL] = {0, below->height, below->height, below->height + hub->height, 0};
    memcpy(piece.shift, shift, sizeof shift);
    return piece;
}

static JoinPiece join_two(const Joiner *joiner, const JoinMatch *match) {
    const JoinPiece *a = piece_of(joiner, match->parts[0]), *b = piece_of(joiner, match->parts[1]);
    JoinPiece piece = *a;
    piece.nparts = 2;
    piece.shift[0] = piece.shift[1] = 0;
    if (b->align > a->align) piece.align = b->align;
    piece.beside = match->beside;
    if (match->beside) {
        piece.class = a->class == CLASS_ANY_QUADRANT ? CLASS_ANY_HALF : CLASS_FULL;
    } else if (same_range(a, b)) {
        piece.height += b->height;
        piece.shift[1] = a->height;
    } else {
        join_runs(a, b, &piece, joiner->scratch);
    }
    return piece;
}

/* Joins what matches, the least likely by chance first. Returns how often. */
static uint32_t join_matches(Joiner *joiner, double most) {
    Joined *joined = joiner->joined;
    SortKey *order = RAW_ARRAY(joiner->scratch, SortKey, joiner->nmatches);
    uint32_t joins = 0;
    for (size_t m = 0; m < joiner->nmatches; m++) {
        uint64_t bits; /* doubles that are not negative compare as their bits do */
        memcpy(&bits, &joiner->matches[m].score, sizeof bits);
        order[m] = (SortKey){bits, (uint32_t)m};
    }
    sort_keys(order, joiner->nmatches, joiner->scratch);
    for (size_t m = 0; m < joiner->nmatches; m++) {
        const JoinMatch *match = &joiner->matches[order[m].id];
        if (match->score > most) break;
        bool free = true;
        for (uint32_t k = 0; k < match->count; k++)
            free = free && !piece_of(joiner, match->parts[k])->gone;
        if (!free) continue;
        JoinPiece piece =
            match->count == WHEEL ? join_wheel(joiner, match) : join_two(joiner, match);
        if (piece.height > joined->problem.size) continue;
        for (uint32_t k = 0; k < match->count; k++) {
            piece.parts[k] = match->parts[k];
            piece_of(joiner, match->parts[k])->gone = true;
        }
        joined->pieces[joined->npieces++] = piece;
        joins++;
    }
    return joins;
}

/* ---- from items and back ---- */

/* The sections of each item become its runs. */
static void take_sections(Joiner *joiner, const Sections *sections, const uint32_t *piece_at) {
    Joined *joined = joiner->joined;
    joiner->sections = sections->count;
    size_t *capacity = NEW_ARRAY(joiner->scratch, size_t, joined->npieces);
    for (uint32_t x = 0; x < sections->count; x++)
        for (uint32_t k = sections->start[x]; k < sections->start[x + 1]; k++) {
            uint32_t at = piece_at[sections->members[k]];
            JoinPiece *piece = &joined->pieces[at];
            if (piece->count && piece->runs[piece->count - 1].last + 1 == x)
                piece->runs[piece->count - 1].last = x;
            else
                PUSH(joiner->scratch, piece->runs, piece->count, capacity[at], ((Interval){x, x}));
        }
}

static bool take_items(Joiner *joiner, const PackPart *part) {
    enum { MOST_MEMBERS = 1 << 20 };
    Joined *joined = joiner->joined;
    uint32_t *piece_at = RAW_ARRAY(joiner->scratch, uint32_t, part->problem->count);
    Sections sections;
    joined->pieces = NEW_ARRAY(joiner->scratch, JoinPiece, 2 * (size_t)part->count);
    for (uint32_t k = 0; k < part->count; k++) {
        const PackItem *item = &part->problem->items[part->ids[k]];
        piece_at[part->ids[k]] = k;
        joined->pieces[k].class = item->class;
        joined->pieces[k].height = item->height;
        joined->pieces[k].align = item->align;
    }
    joined->npieces = part->count;
    if (!pack_sections(part, MOST_MEMBERS, joiner->scratch, &sections)) return false;
    take_sections(joiner, &sections, piece_at);
    return true;
}

static void make_problem(Joiner *joiner) {
    Joined *joined = joiner->joined;
    joined->piece_of = RAW_ARRAY(joiner->scratch, uint32_t, joined->npieces);
    joined->problem.items = NEW_ARRAY(joiner->scratch, PackItem, joined->npieces);
    for (uint32_t i = 0; i < joined->npieces; i++) {
        const JoinPiece *piece = &joined->pieces[i];
        if (piece->gone) continue;
        joined->piece_of[joined->problem.count] = i;
        joined->problem.items[joined->problem.count++] =
            (PackItem){.class = piece->class,
                       .height = piece->height,
                       .align = piece->align,
                       .range = {piece->runs, piece->count}};
    }
}

/* Chooses joins that are undone, and with them all that was made of those. */
static bool *choose_broken(const Joined *joined, uint32_t percent, Budget *budget, Arena *scratch) {
    bool *broken = NEW_ARRAY(scratch, bool, joined->npieces);
    for (uint32_t i = joined->part.count; i < joined->npieces; i++) {
        const JoinPiece *piece = &joined->pieces[i];
        broken[i] = budget_random(budget) % 100 < percent;
        for (uint32_t k = 0; k < piece->nparts; k++)
            broken[i] |= broken[piece->parts[k]];
    }
    return broken;
}

/* The pieces of `before` that are not broken, with runs of their own. */
static void take_unbroken(Joiner *joiner, const Joined *before, const bool *broken) {
    Joined *joined = joiner->joined;
    uint32_t *now = RAW_ARRAY(joiner->scratch, uint32_t, before->npieces);
    joined->pieces = NEW_ARRAY(joiner->scratch, JoinPiece, 2 * (size_t)before->part.count);
    for (uint32_t i = 0; i < before->npieces; i++) {
        if (broken[i]) continue;
        now[i] = joined->npieces++;
        JoinPiece *piece = &joined->pieces[now[i]];
        *piece = before->pieces[i];
        piece->gone = false;
        piece->runs = RAW_ARRAY(joiner->scratch, Interval, piece->count);
        memcpy(piece->runs, before->pieces[i].runs, piece->count * sizeof *piece->runs);
        for (uint32_t k = 0; k < piece->nparts; k++) {
            piece->parts[k] = now[piece->parts[k]];
            joined->pieces[piece->parts[k]].gone = true;
        }
    }
}

static void join_all(Joiner *joiner, double most) {
    do {
        list_runs(joiner);
        find_matches(joiner);
        weigh_rivals(joiner);
    } while (join_matches(joiner, most) && joiner->budget->used < joiner->budget->limit);
    make_problem(joiner);
}

void pack_join_again(const Joined *before, uint32_t percent, Budget *budget, Arena *scratch,
                     Joined *joined) {
    *joined = (Joined){
        .part = before->part, .problem.size = before->problem.size, .sections = before->sections};
    Joiner joiner = {.joined = joined,
                     .budget = budget,
                     .scratch = scratch,
                     .noise = 1,
                     .sections = before->sections};
    take_unbroken(&joiner, before, choose_broken(before, percent, budget, scratch));
    join_all(&joiner, INFINITY);
}

bool pack_join(const PackPart *part, JoinRule rule, Budget *budget, Arena *scratch,
               Joined *joined) {
    *joined = (Joined){.part = *part, .problem.size = part->capacity};
    Joiner joiner = {.joined = joined, .budget = budget, .scratch = scratch, .noise = rule.noise};
    if (!take_items(&joiner, part)) return false;
    joined->sections = joiner.sections;
    join_all(&joiner, rule.most);
    return joined->npieces > part->count;
}

/* The lower or upper half of a band. */
static uint8_t half_band(uint8_t band, bool upper) {
    uint32_t count = (uint32_t)__builtin_popcount(band) / 2;
    uint8_t low = 0;
    for (uint32_t q = 0; count; q++)
        if (band >> q & 1) {
            low |= (uint8_t)(1 << q);
            count--;
        }
    return upper ? (uint8_t)(band & ~low) : low;
}

void pack_unjoin(const Joined *joined, Arena *scratch, PackPlaces *places) {
    uint32_t *offset = NEW_ARRAY(scratch, uint32_t, joined->npieces);
    uint8_t *band = NEW_ARRAY(scratch, uint8_t, joined->npieces);
    for (uint32_t i = 0; i < joined->problem.count; i++) {
        offset[joined->piece_of[i]] = joined->problem.items[i].offset;
        band[joined->piece_of[i]] = joined->problem.items[i].band;
    }
    for (uint32_t i = joined->npieces; i-- > 0;) {
        const JoinPiece *piece = &joined->pieces[i];
        for (uint32_t k = 0; k < piece->nparts; k++) {
            offset[piece->parts[k]] = offset[i] + piece->shift[k];
            band[piece->parts[k]] = piece->beside ? half_band(band[i], k) : band[i];
        }
    }
    for (uint32_t k = 0; k < joined->part.count; k++) {
        places->offset[joined->part.ids[k]] = offset[k];
        places->band[joined->part.ids[k]] = band[k];
    }
}
