#include <string.h>

#include "ir/names.h"
#include "output/svg_chart.h"
#include "support/sort.h"

enum {
    MOST_ALONE = 12000,     /* rectangles drawn one by one in a function */
    INVISIBLE = 3 * PX / 10 /* a gap that nobody sees */
};

/* ---- working copies ---- */

/* What a tensor is a working copy of, or nothing. */
static Str original_of(const Tensor *tensor) {
    Str original;
    bool copy = tensor->space == SPACE_SB && meta_find(tensor->meta, "of") &&
                derived_stem(tensor->name, COPY_MARK, &original);
    return copy ? original : STR("");
}

/* ---- colours ---- */

/* The name without the numbers at its end: `qk` of `qk_12`. */
static Str family_of(Str name) {
    uint32_t end = name.length;
    while (end > 0 && ((name.text[end - 1] >= '0' && name.text[end - 1] <= '9') ||
                       name.text[end - 1] == '_' || name.text[end - 1] == '.'))
        end--;
    return (Str){name.text, end > 0 ? end : name.length};
}

/* What stands for a tensor in its colour: a copy's or a split part's original is it. */
static Str name_of(const Chart *chart, uint32_t id) {
    const Tensor *tensor = &chart->func->tensors[id];
    const Meta *of = meta_find(tensor->meta, "of");
    return of && of->kind == META_TEXT && of->text.length > 0 ? of->text : tensor->name;
}

/* True if names make several families, none of nearly all tensors: then the colours tell families
 * apart, else tensors. */
static bool has_families(const Chart *chart) {
    enum { FEWEST = 3 };
    Arena scratch;
    arena_init(&scratch);
    StrMap families;
    strmap_init(&families, &scratch);
    uint32_t *members = NEW_ARRAY(&scratch, uint32_t, chart->func->ntensors);
    uint32_t most = 0, count = 0;
    for (uint32_t t = 0; t < chart->func->ntensors; t++) {
        if (!chart->shown[t]) continue;
        uint32_t first = strmap_add(&families, family_of(name_of(chart, t)), t);
        if (++members[first] > most) most = members[first];
        count++;
    }
    bool several = families.count >= FEWEST && most < count - count / 5;
    arena_free(&scratch);
    return several;
}

/* The colour of the name's hash, or the next that is free. When all are taken, all are free again.
 */
static uint8_t next_colour(Str name, uint32_t *taken) {
    enum { STRIDE = 5 /* around the circle of hues, to one that looks different */ };
    if (*taken == (1u << COLOURS) - 1) *taken = 0;
    uint32_t colour = (uint32_t)(str_hash(name) % COLOURS);
    while (*taken >> colour & 1)
        colour = (colour + STRIDE) % COLOURS;
    *taken |= 1u << colour;
    return (uint8_t)colour;
}

/* A colour for each name, or each family of names, in order of declaration. */
static void choose_colours(Chart *chart) {
    Palette own = {0};
    Palette *palette = chart->request->palette ? chart->request->palette : &own;
    if (!palette->begun) {
        if (palette == &own) strmap_init(&own.of, chart->arena);
        palette->families = has_families(chart);
        palette->begun = true;
    }
    chart->colour = NEW_ARRAY(chart->arena, uint8_t, chart->func->ntensors);
    for (uint32_t t = 0; t < chart->func->ntensors; t++) {
        if (!chart->shown[t]) continue;
        Str name = palette->families ? family_of(name_of(chart, t)) : name_of(chart, t);
        uint32_t colour = strmap_get(&palette->of, name);
        if (colour == UINT32_MAX)
            colour = strmap_add(&palette->of, name, next_colour(name, &palette->taken));
        chart->colour[t] = (uint8_t)colour;
    }
}

/* ---- rectangles ---- */

typedef struct {
    Chart *chart;
    size_t capacity;
    const Tensor *tensor;
    uint32_t id;
} Maker;

static bool ranges_equal(LiveRange a, LiveRange b) {
    if (a.count != b.count) return false;
    return a.items == b.items || memcmp(a.items, b.items, a.count * sizeof *a.items) == 0;
}

/* True if block `next` lies right above `block`, for the same time, both so low that their border
 * would be lost. */
static bool blocks_merge(const Maker *maker, int64_t block, int64_t next) {
    enum { LOW = 100 /* such blocks would fill a lane: each takes some pixels */ };
    const Tensor *tensor = maker->tensor;
    Place place = tensor->at[block], above = tensor->at[next];
    int64_t between = above.byte - (place.byte + tensor->bytes);
    if (above.partition != place.partition || between < 0 || between >= GRANULE) return false;
    if (tensor->bytes > maker->chart->highest / LOW) return false;
    const Live *live = maker->chart->item->live;
    return ranges_equal(live_block(live, maker->id, block), live_block(live, maker->id, next));
}

/* The rectangles of blocks [block, end): one an interval, those merged that are hardly apart. */
static void add_run(Maker *maker, int64_t block, int64_t end) {
    Chart *chart = maker->chart;
    const Tensor *tensor = maker->tensor;
    LiveRange range = live_block(chart->item->live, maker->id, block);
    ChartPiece piece = {.tensor = maker->id,
                        .block = (uint32_t)block,
                        .end_block = (uint32_t)end,
                        .low = tensor->at[block].byte,
                        .high = tensor->at[end - 1].byte + tensor->bytes,
                        .mask = tensor_rect(tensor, tensor->at[block]).mask,
                        .alone = true,
                        .next = NO_PIECE};
    for (uint32_t i = 0; i < range.count; i++) {
        piece.live = range.items[i];
        while (i + 1 < range.count &&
               chart_x(chart, range.items[i + 1].first) - chart_x(chart, piece.live.last + 1) <
                   INVISIBLE)
            piece.live.last = range.items[++i].last;
        PUSH(chart->arena, chart->pieces, chart->npieces, maker->capacity, piece);
    }
}

static void find_highest(Chart *chart) {
    for (uint32_t t = 0; t < chart->func->ntensors; t++) {
        const Tensor *tensor = &chart->func->tensors[t];
        if (tensor->space != SPACE_SB || !tensor->at) continue;
        for (int64_t b = 0; b < tensor->blocks; b++) {
            int64_t high = tensor->at[b].byte + tensor->bytes;
            bool lives = live_block(chart->item->live, t, b).count > 0;
            if (lives && high > chart->highest) chart->highest = high;
        }
    }
}

static void add_tensor(Maker *maker, uint32_t id) {
    maker->id = id;
    maker->tensor = &maker->chart->func->tensors[id];
    if (maker->tensor->space != SPACE_SB || !maker->tensor->at) return;
    for (int64_t block = 0, end; block < maker->tensor->blocks; block = end) {
        for (end = block + 1; end < maker->tensor->blocks; end++)
            if (!blocks_merge(maker, end - 1, end)) break;
        add_run(maker, block, end);
    }
}

/* ---- those too many ---- */

/* Leaves only the largest to be drawn by themselves. */
static void choose_alone(Chart *chart) {
    if (chart->npieces <= MOST_ALONE) return;
    Arena scratch;
    arena_init(&scratch);
    SortKey *keys = RAW_ARRAY(&scratch, SortKey, chart->npieces);
    for (size_t i = 0; i < chart->npieces; i++) {
        const ChartPiece *piece = &chart->pieces[i];
        uint64_t points = (uint64_t)piece->live.last - piece->live.first + 1;
        keys[i] = (SortKey){points * (uint64_t)(piece->high - piece->low), (uint32_t)i};
    }
    sort_keys(keys, chart->npieces, &scratch);
    chart->ntogether = chart->npieces - MOST_ALONE;
    for (size_t i = 0; i < chart->ntogether; i++)
        chart->pieces[keys[i].id].alone = false;
    chart->has.crowd = true;
    arena_free(&scratch);
}

static void note_features(Chart *chart) {
    for (size_t i = 0; i < chart->npieces; i++) {
        if (!chart->pieces[i].alone) continue;
        uint32_t id = chart->pieces[i].tensor;
        const Tensor *tensor = &chart->func->tensors[id];
        chart->shown[id] = true;
        chart->has.input |= tensor->input;
        chart->has.output |= tensor->output;
        chart->has.pinned |= tensor->pin;
        chart->has.fixed |= tensor->fixed && !chart->request->side;
        chart->has.copy |= chart->original[id].length > 0;
        chart->has.changed |= chart->request->changed && chart->request->changed[id];
    }
}

void chart_pieces(Chart *chart) {
    uint32_t count = chart->func->ntensors;
    Maker maker = {.chart = chart};
    chart->original = NEW_ARRAY(chart->arena, Str, count);
    chart->shown = NEW_ARRAY(chart->arena, bool, count);
    find_highest(chart);
    for (uint32_t t = 0; t < count; t++) {
        chart->original[t] = original_of(&chart->func->tensors[t]);
        add_tensor(&maker, t);
    }
    choose_alone(chart);
    note_features(chart);
    choose_colours(chart);
}

/* ---- gaps ---- */

/* The copies of all originals, those of one together in order of their first point. */
static SortKey *copies_in_order(const Chart *chart, size_t *count, Arena *scratch) {
    StrMap groups;
    strmap_init(&groups, scratch);
    SortKey *keys = RAW_ARRAY(scratch, SortKey, chart->func->ntensors);
    *count = 0;
    for (uint32_t t = 0; t < chart->func->ntensors; t++) {
        LiveRange range = chart->item->live->whole[t];
        if (!chart->shown[t] || chart->original[t].length == 0 || range.count == 0) continue;
        uint64_t group = strmap_add(&groups, chart->original[t], t);
        keys[(*count)++] = (SortKey){group << 32 | range.items[0].first, t};
    }
    sort_keys(keys, *count, scratch);
    return keys;
}

void chart_gaps(Chart *chart) {
    size_t count, capacity = 0;
    Arena scratch;
    arena_init(&scratch);
    const SortKey *keys = copies_in_order(chart, &count, &scratch);
    for (size_t i = 1; i < count; i++) {
        uint32_t before = keys[i - 1].id, after = keys[i].id;
        LiveRange range = chart->item->live->whole[before];
        uint32_t last = range.items[range.count - 1].last, first = (uint32_t)keys[i].key;
        if (keys[i].key >> 32 != keys[i - 1].key >> 32 || last >= first) continue;
        if (chart_x(chart, first) - chart_x(chart, last + 1) < PX) continue;
        PUSH(chart->arena, chart->gaps, chart->ngaps, capacity, ((ChartGap){before, after}));
    }
    chart->has.gap = chart->ngaps > 0;
    arena_free(&scratch);
}
