#include "output/svg_chart.h"
#include "support/sort.h"

/* ---- what is free in a column of points ---- */

typedef struct {
    uint32_t *items; /* [count] holes, by their bytes */
    uint32_t count;
} PieceList;

typedef struct {
    Chart *chart;
    Arena scratch;
    SortKey *order; /* [npieces] by first column */
    uint32_t *open; /* [nopen] pieces that live in the column at hand, by their lower edge */
    size_t nopen, next;
    PieceList lists[QUADRANTS]; /* of each lane, in the column before */
    uint32_t *spare;            /* room for one more list */
    size_t capacity;
} HolePass;

/* A stretch of free bytes. */
typedef struct {
    int64_t low, high;
} FreeBytes;

uint32_t hole_columns(const Chart *chart) {
    enum { FINEST = 2 * PX };
    uint32_t most = (uint32_t)(chart->width / FINEST);
    return chart->points < most ? chart->points : most;
}

uint32_t column_start(const Chart *chart, uint32_t column) {
    return (uint32_t)((uint64_t)column * chart->points / hole_columns(chart));
}

/* The column of a point. */
static uint32_t column_of(const Chart *chart, uint32_t point) {
    uint32_t column = (uint32_t)((uint64_t)point * hole_columns(chart) / chart->points);
    while (column + 1 < hole_columns(chart) && column_start(chart, column + 1) <= point)
        column++;
    return column;
}

/* Takes out what has died and adds what lives from this column on. */
static void open_column(HolePass *pass, uint32_t column) {
    Chart *chart = pass->chart;
    Arena scratch;
    arena_init(&scratch);
    SortKey *keys = RAW_ARRAY(&scratch, SortKey, chart->npieces);
    size_t count = 0;
    for (size_t i = 0; i < pass->nopen; i++) {
        const ChartPiece *piece = &chart->pieces[pass->open[i]];
        if (piece->live.last >= column_start(chart, column))
            keys[count++] = (SortKey){(uint64_t)piece->low, pass->open[i]};
    }
    for (; pass->next < chart->npieces && pass->order[pass->next].key <= column; pass->next++) {
        uint32_t id = pass->order[pass->next].id;
        keys[count++] = (SortKey){(uint64_t)chart->pieces[id].low, id};
    }
    sort_keys(keys, count, &scratch);
    for (size_t i = 0; i < count; i++)
        pass->open[i] = keys[i].id;
    pass->nopen = count;
    arena_free(&scratch);
}

/* The next stretch of at least a granule that is free in all quadrants of `mask`, from *at on: the
 * first piece not looked at. False at the end. */
static bool next_free(const HolePass *pass, uint8_t mask, size_t *at, int64_t *above,
                      FreeBytes *free) {
    const Chart *chart = pass->chart;
    while (*at <= pass->nopen) {
        const ChartPiece *piece = *at < pass->nopen ? &chart->pieces[pass->open[*at]] : NULL;
        ++*at;
        if (piece && !(piece->mask & mask)) continue;
        *free = (FreeBytes){*above, piece ? piece->low : chart->usable};
        if (piece && piece->high > *above) *above = piece->high;
        if (free->high - free->low >= GRANULE) return true;
    }
    return false;
}

static FreeBytes largest_free(const HolePass *pass, uint8_t mask) {
    FreeBytes free, largest = {0, 0};
    int64_t above = 0;
    for (size_t at = 0; next_free(pass, mask, &at, &above, &free);)
        if (free.high - free.low > largest.high - largest.low) largest = free;
    return largest;
}

/* Adds a hole, or goes on with one of the column before that is the same. Both columns' holes come
 * by their bytes. Returns which it is. */
static uint32_t add_hole(HolePass *pass, FreePiece hole, const PieceList *before, uint32_t *at) {
    Chart *chart = pass->chart;
    while (*at < before->count && chart->holes[before->items[*at]].low < hole.low)
        ++*at;
    if (*at < before->count) {
        FreePiece *old = &chart->holes[before->items[*at]];
        if (old->low == hole.low && old->high == hole.high) {
            old->end = hole.end;
            return before->items[*at];
        }
    }
    PUSH(chart->arena, chart->holes, chart->nholes, pass->capacity, hole);
    return (uint32_t)(chart->nholes - 1);
}

static void find_in_lane(HolePass *pass, uint8_t lane, uint32_t column) {
    enum { VISIBLE = 512 /* so many of them fill a lane */ };
    const Chart *chart = pass->chart;
    uint8_t mask = chart->lanes[lane].mask;
    FreeBytes largest = largest_free(pass, mask), free;
    PieceList before = pass->lists[lane], now = {pass->spare, 0};
    int64_t above = 0;
    uint32_t match = 0;
    for (size_t at = 0; next_free(pass, mask, &at, &above, &free);) {
        if (free.low == largest.low || (free.high - free.low) * VISIBLE < chart->highest) continue;
        FreePiece hole = {column, column + 1, free.low, free.high, lane};
        now.items[now.count++] = add_hole(pass, hole, &before, &match);
    }
    pass->spare = before.items;
    pass->lists[lane] = now;
}

/* ---- the largest free rectangle at the worst point ---- */

/* As far on both sides as the bytes stay free. */
static Interval extend_room(const Chart *chart, const FreeRoom *room, uint32_t worst) {
    Interval points = {0, chart->points - 1};
    for (size_t i = 0; i < chart->npieces; i++) {
        const ChartPiece *piece = &chart->pieces[i];
        if (!(piece->mask & room->mask) || piece->low >= room->high || room->low >= piece->high)
            continue;
        if (piece->live.last < worst && piece->live.last + 1 > points.first)
            points.first = piece->live.last + 1;
        if (piece->live.first > worst && piece->live.first - 1 < points.last)
            points.last = piece->live.first - 1;
    }
    return points;
}

/* The pieces that live at the worst point are open. */
static void find_room(HolePass *pass, uint32_t worst) {
    static const uint8_t BANDS[] = {15, 3, 12, 1, 2, 4, 8};
    Chart *chart = pass->chart;
    int64_t largest = 0;
    for (size_t i = 0; i < sizeof BANDS; i++) {
        FreeBytes free = largest_free(pass, BANDS[i]);
        int64_t area = (free.high - free.low) * __builtin_popcount(BANDS[i]);
        if (area <= largest) continue;
        largest = area;
        chart->room = (FreeRoom){{worst, worst}, free.low, free.high, BANDS[i]};
    }
    if (largest > 0) chart->room.points = extend_room(chart, &chart->room, worst);
    bool cut = chart->highest < chart->usable / 2; /* the scale ends where the tensors do */
    chart->has.room = largest > 0 && (!cut || chart->room.high <= chart->highest);
}

/* Opens exactly what lives at a point. */
static void open_point(HolePass *pass, uint32_t point) {
    const Chart *chart = pass->chart;
    SortKey *keys = RAW_ARRAY(&pass->scratch, SortKey, chart->npieces);
    pass->nopen = 0;
    for (size_t i = 0; i < chart->npieces; i++)
        if (chart->pieces[i].live.first <= point && point <= chart->pieces[i].live.last)
            keys[pass->nopen++] = (SortKey){(uint64_t)chart->pieces[i].low, (uint32_t)i};
    sort_keys(keys, pass->nopen, &pass->scratch);
    for (size_t i = 0; i < pass->nopen; i++)
        pass->open[i] = keys[i].id;
}

/* ---- the whole ---- */

static void prepare(HolePass *pass) {
    const Chart *chart = pass->chart;
    pass->order = RAW_ARRAY(&pass->scratch, SortKey, chart->npieces);
    pass->open = RAW_ARRAY(&pass->scratch, uint32_t, chart->npieces);
    for (size_t i = 0; i < chart->npieces; i++)
        pass->order[i] = (SortKey){column_of(chart, chart->pieces[i].live.first), (uint32_t)i};
    sort_keys(pass->order, chart->npieces, &pass->scratch);
    for (uint32_t lane = 0; lane < chart->nlanes; lane++)
        pass->lists[lane].items = RAW_ARRAY(&pass->scratch, uint32_t, chart->npieces + 1);
    pass->spare = RAW_ARRAY(&pass->scratch, uint32_t, chart->npieces + 1);
}

void chart_holes(Chart *chart) {
    if (chart->npieces == 0) return;
    HolePass pass = {.chart = chart};
    arena_init(&pass.scratch);
    prepare(&pass);
    for (uint32_t column = 0; column < hole_columns(chart); column++) {
        open_column(&pass, column);
        for (uint8_t lane = 0; lane < chart->nlanes; lane++)
            find_in_lane(&pass, lane, column);
    }
    chart->has.hole = chart->nholes > 0;
    if (chart->usage->now) {
        open_point(&pass, chart->usage->now->at.point);
        find_room(&pass, chart->usage->now->at.point);
    }
    arena_free(&pass.scratch);
}

/* ---- drawing ---- */

static int64_t column_x(const Chart *chart, uint32_t column) {
    return chart_x(chart,
                   column == hole_columns(chart) ? chart->points : column_start(chart, column));
}

/* Thinner ones are not seen. */
void draw_holes(const Chart *chart, Writer *out) {
    enum { THINNEST = 15 * PX / 10 };
    if (chart->nholes == 0) return;
    write_text(out, "<path class=\"hole\" d=\"");
    for (size_t i = 0; i < chart->nholes; i++) {
        const FreePiece *hole = &chart->holes[i];
        const Lane *lane = &chart->lanes[hole->lane];
        int64_t x = column_x(chart, hole->first), y = lane_y(lane, hole->high);
        int64_t height = lane_y(lane, hole->low) - y;
        if (height < THINNEST || y < lane->top) continue;
        write_char(out, 'M');
        svg_length(out, x);
        write_char(out, ' ');
        svg_length(out, y);
        write_char(out, 'h');
        svg_length(out, column_x(chart, hole->end) - x);
        write_char(out, 'v');
        svg_length(out, height);
        write_char(out, 'H');
        svg_length(out, x);
        write_char(out, 'z');
    }
    write_text(out,
               "\"><title>free, but in smaller pieces than the largest there</title></path>\n");
}

static void draw_room_in(const Chart *chart, const Lane *lane, Writer *out) {
    const FreeRoom *room = &chart->room;
    int64_t x = chart_x(chart, room->points.first), right = chart_x(chart, room->points.last + 1);
    int64_t top = room->high < lane->ceiling ? lane_y(lane, room->high) : lane->top;
    write_text(out, "<rect class=\"room\"");
    svg_box(out, x, top, right - x, lane_y(lane, room->low) - top);
    write_text(out, "><title>the largest free rectangle at the worst point: ");
    svg_count(out, room->high - room->low, "byte");
    write_text(out, " of ");
    svg_count(out, (int64_t)__builtin_popcount(room->mask) * QUADRANT_PARTITIONS, "partition");
    write_format(out, "\npoints %u\xE2\x80\x93%u, bytes ", room->points.first, room->points.last);
    svg_number(out, room->low);
    write_text(out, "\xE2\x80\x93");
    svg_number(out, room->high - 1);
    write_text(out, "</title></rect>\n");
}

void draw_room(const Chart *chart, Writer *out) {
    if (!chart->has.room) return;
    for (uint32_t i = 0; i < chart->nlanes; i++)
        if (chart->lanes[i].mask & chart->room.mask) draw_room_in(chart, &chart->lanes[i], out);
}
