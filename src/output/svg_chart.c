#include "output/svg_chart.h"

enum {
    LEFT = 96 * PX,
    RIGHT = 108 * PX,
    COLUMN = 665, /* of the fixed-width font at 11 px */
    NARROWEST = 640 * PX,
    WIDE = 1200 * PX,
    WIDEST = 1800 * PX,
    COMFORTABLE_POINT = 42 * PX, /* width of a point where there are few */
    MANY_POINTS = 2400,
    MANY_TENSORS = 200,
    MOST_LOOP_ROWS = 8,
    MOST_OPCODE_COLUMNS = 18
};

uint32_t fitting_columns(int64_t length) {
    return length <= 0 ? 0 : (uint32_t)(length / COLUMN);
}

static int64_t column_length(uint32_t columns) {
    return (int64_t)columns * COLUMN;
}

/* ---- scales ---- */

int64_t chart_x(const Chart *chart, uint32_t point) {
    if (chart->points == 0) return chart->left;
    return chart->left + (int64_t)point * chart->width / chart->points;
}

int64_t chart_middle(const Chart *chart, uint32_t point) {
    if (chart->points == 0) return chart->left;
    return chart->left + (2 * (int64_t)point + 1) * chart->width / (2 * (int64_t)chart->points);
}

int64_t lane_y(const Lane *lane, int64_t byte) {
    return lane->top + lane->height - byte * lane->height / lane->ceiling;
}

ChartBox chart_box(const Chart *chart, const Lane *lane, const ChartPiece *piece) {
    enum { THINNEST = 8 * PX / 10 };
    ChartBox box = {.x = chart_x(chart, piece->live.first), .y = lane_y(lane, piece->high)};
    box.width = chart_x(chart, piece->live.last + 1) - box.x;
    box.height = lane_y(lane, piece->low) - box.y;
    if (box.width < THINNEST) box.width = THINNEST;
    if (box.height < THINNEST) box.height = THINNEST;
    return box;
}

/* The smallest power of two of bytes between ticks that lie 34 pixels apart. */
static int64_t step_of_bytes(int64_t ceiling, int64_t height) {
    int64_t step = 1;
    while (step * height / ceiling < 34 * PX)
        step *= 2;
    return step;
}

/* The smallest of 1, 2, 5, 10, 20 ... points between labels with room for the largest number. */
static int64_t step_of_points(const Chart *chart) {
    static const int64_t FACTORS[] = {1, 2, 5};
    int64_t room = 22 * PX;
    for (uint32_t rest = chart->points; rest >= 10; rest /= 10)
        room += 8 * PX;
    for (int64_t decade = 1;; decade *= 10)
        for (int i = 0; i < 3; i++) {
            int64_t step = decade * FACTORS[i];
            if (step >= chart->points || step * chart->width / chart->points >= room) return step;
        }
}

/* Some room above what has to be seen: `usable` too where `most` is beyond `share`. */
static int64_t ceiling_of(int64_t most, int64_t usable, int64_t share) {
    if (most > share && usable > most) most = usable;
    int64_t ceiling = most + most / (most < usable ? 8 : 20) + 1;
    return ceiling < 2 * GRANULE ? 2 * GRANULE : ceiling;
}

/* The capacity is in the picture unless most of it is free: then the top is where the tensors
 * end, so that they can be seen. */
static void scale_bytes(Chart *chart) {
    int64_t most = chart->peak > chart->highest ? chart->peak : chart->highest;
    const ChartScale *scale = &chart->request->scale;
    if (scale->most > most) most = scale->most;
    int64_t usable = scale->usable > chart->usable ? scale->usable : chart->usable;
    int64_t ceiling = ceiling_of(most, usable, usable / 2);
    for (uint32_t i = 0; i < chart->nlanes; i++)
        chart->lanes[i].ceiling = ceiling;
    enum { SHOWN = 3 /* times the capacity: what is needed beyond is cut off */ };
    int64_t needed = chart->before > most ? chart->before : most;
    if (needed > SHOWN * usable) needed = SHOWN * usable > most ? SHOWN * usable : most;
    chart->pressure.ceiling = ceiling_of(needed, usable, usable / 4);
    chart->byte_step = step_of_bytes(ceiling, chart->lanes[0].height);
}

/* ---- lanes ---- */

static bool quadrants_alike(const Chart *chart, int first, int second) {
    for (size_t i = 0; i < chart->npieces; i++) {
        uint8_t mask = chart->pieces[i].mask;
        if ((mask >> first & 1) != (mask >> second & 1)) return false;
    }
    return true;
}

static void find_lanes(Chart *chart) {
    chart->lanes[0].mask = 1;
    chart->nlanes = 1;
    for (int q = 1; q < QUADRANTS; q++) {
        if (!quadrants_alike(chart, q - 1, q)) chart->lanes[chart->nlanes++].mask = 0;
        chart->lanes[chart->nlanes - 1].mask |= (uint8_t)(1u << q);
    }
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Returns where the lanes end. */
static int64_t stack_lanes(Chart *chart, int64_t y) {
    static const int64_t HEIGHTS[3][QUADRANTS] = {
        {400, 260, 200, 170}, {620, 400, 300, 250}, {900, 560, 400, 320}};
    const ChartScale *scale = &chart->request->scale;
    uint32_t count = larger(chart->func->ntensors, scale->tensors);
    int size = (count > MANY_TENSORS) + (count > 2 * MANY_TENSORS);
    int64_t height = HEIGHTS[size][larger(chart->nlanes, scale->lanes) - 1] * PX;
    for (uint32_t i = 0; i < chart->nlanes; i++) {
        chart->lanes[i].top = y;
        chart->lanes[i].height = height;
        y += height + 10 * PX;
    }
    return y - 10 * PX;
}

/* ---- rows ---- */

/* Opcodes are named where a point has room for a line of text. */
static int64_t opcode_height(Chart *chart) {
    if (chart->points == 0 || chart->width / chart->points < 13 * PX) return 0;
    uint32_t longest = 0;
    for (uint32_t p = 0; p < chart->points; p++) {
        uint32_t columns = svg_columns(chart->func->insts[p].op);
        if (columns > longest) longest = columns;
    }
    if (longest > MOST_OPCODE_COLUMNS) longest = MOST_OPCODE_COLUMNS;
    chart->upright = column_length(longest + 1) > chart->width / chart->points;
    return chart->upright ? column_length(longest) + 10 * PX : 18 * PX;
}

static uint32_t loop_depth(const Func *func) {
    uint32_t deepest = 0;
    for (uint32_t l = 0; l < func->nloops; l++)
        if (func->loops[l].depth + 1 > deepest) deepest = func->loops[l].depth + 1;
    return deepest < MOST_LOOP_ROWS ? deepest : MOST_LOOP_ROWS;
}

static void find_features(Chart *chart) {
    for (uint32_t p = 0; p < chart->points; p++) {
        const Inst *inst = &chart->func->insts[p];
        chart->has.spill |= dma_is_store(inst);
        chart->has.reload |= dma_is_reload(inst);
        chart->has.dma |= inst->kind == OP_LOAD || inst->kind == OP_SAVE;
    }
}

static bool has_where(const Chart *chart) {
    for (uint32_t p = 0; p < chart->points; p++)
        if (chart->usage->where[p].length > 0) return true;
    return false;
}

static void arrange(Chart *chart) {
    chart->legend = 78 * PX;
    int64_t y = chart->legend + (int64_t)draw_legend(chart, NULL) * 20 * PX;
    chart->pressure.top = y + 8 * PX;
    chart->pressure.height = (chart->before > 0 ? 112 : 84) * PX;
    y = stack_lanes(chart, chart->pressure.top + chart->pressure.height + 14 * PX);
    chart->axis = y;
    chart->lines = y + 20 * PX;
    chart->opcodes = chart->lines + (has_where(chart) ? 16 * PX : 0);
    chart->opcodes_height = opcode_height(chart);
    chart->dma = chart->opcodes + chart->opcodes_height + 6 * PX;
    chart->loops = chart->dma + (chart->has.dma ? 40 * PX : 0);
    chart->loop_rows = loop_depth(chart->func);
    chart->peaks = chart->loops + (int64_t)chart->loop_rows * 24 * PX + 16 * PX;
    int64_t peaks = (chart->peak > 0) + (chart->before > 0);
    chart->height = chart->peaks + peaks * 18 * PX + 4 * PX;
}

/* ---- the whole ---- */

static int64_t width_of(uint32_t points) {
    if (points > MANY_POINTS) return WIDEST;
    int64_t width = (int64_t)points * COMFORTABLE_POINT;
    return width < NARROWEST ? NARROWEST : width > WIDE ? WIDE : width;
}

/* The page is as wide as all points need, the plot as those of this function. */
static void set_width(Chart *chart) {
    uint32_t all = larger(chart->points, chart->request->scale.points);
    int64_t width = width_of(all);
    chart->width = all > chart->points ? width * chart->points / all : width;
    if (chart->width < PX) chart->width = PX;
    chart->page = chart->left + width + RIGHT;
}

static void find_need(Chart *chart) {
    chart->need = chart->usage->need;
    chart->peak = peak_bytes(chart->usage->now);
    chart->before = peak_bytes(chart->usage->before);
}

Chart chart_make(const ChartRequest *request, Arena *arena) {
    const JsonFunc *item = &request->drawing->funcs[request->index];
    Chart chart = {.arena = arena,
                   .request = request,
                   .usage = request->usage,
                   .target = request->drawing->target,
                   .item = item,
                   .func = item->func,
                   .points = item->func->ninsts,
                   .usable = target_usable(request->drawing->target),
                   .left = LEFT};
    set_width(&chart);
    chart.accesses = find_accesses(item->func, arena);
    find_need(&chart);
    chart_pieces(&chart);
    chart_shared(&chart);
    chart_gaps(&chart);
    find_features(&chart);
    find_lanes(&chart);
    chart_holes(&chart);
    arrange(&chart);
    scale_bytes(&chart);
    chart.point_step = chart.points ? step_of_points(&chart) : 1;
    return chart;
}
