#include "output/svg_chart.h"

enum { MARGIN = 6 * PX };

/* ---- frames ---- */

static void draw_point_grid(const Chart *chart, const Lane *lane, Writer *out) {
    for (int64_t point = 0; point < chart->points; point += chart->point_step) {
        int64_t x = chart_middle(chart, (uint32_t)point);
        svg_line(out, "grid", x, lane->top, x, lane->top + lane->height);
    }
}

static void draw_byte_ticks(const Chart *chart, const Lane *lane, Writer *out) {
    for (int64_t byte = 0; byte <= lane->ceiling; byte += chart->byte_step) {
        int64_t y = lane_y(lane, byte);
        svg_line(out, "grid", chart->left, y, chart->left + chart->width, y);
        svg_open_text(out, "axis", chart->left - MARGIN, y + 4 * PX, ANCHOR_END);
        svg_bytes(out, byte, chart->byte_step);
        svg_close_text(out);
    }
}

static int first_quadrant(uint8_t mask) {
    return __builtin_ctz(mask);
}

static int end_quadrant(uint8_t mask) {
    return first_quadrant(mask) + __builtin_popcount(mask);
}

static void draw_lane_name(const Lane *lane, Writer *out) {
    write_text(out, "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(18 ");
    svg_length(out, lane->top + lane->height / 2);
    write_format(out, ") rotate(-90)\">partitions %d\xE2\x80\x93%d</text>\n",
                 first_quadrant(lane->mask) * QUADRANT_PARTITIONS,
                 end_quadrant(lane->mask) * QUADRANT_PARTITIONS - 1);
}

/* A figure at the right of the plot, its name above it. */
static void draw_figure(const Chart *chart, int64_t y, const char *name, int64_t bytes,
                        Writer *out) {
    int64_t x = chart->left + chart->width + MARGIN;
    svg_text(out, "axis", x, y, ANCHOR_START, name);
    svg_open_text(out, "axis", x, y + 13 * PX, ANCHOR_START);
    svg_number(out, bytes);
    svg_close_text(out);
}

static void draw_capacity(const Chart *chart, const Lane *lane, Writer *out) {
    int64_t right = chart->left + chart->width;
    int64_t high = lane_y(lane, chart->highest), y = lane->top;
    if (chart->usable <= lane->ceiling) {
        y = lane_y(lane, chart->usable);
        svg_line(out, "capacity", chart->left, y, right + MARGIN, y);
    }
    if (chart->npieces == 0) return;
    if (chart->highest != chart->usable) svg_line(out, "water", chart->left, high, right, high);
    if (lane != chart->lanes) return;
    if (chart->usable <= lane->ceiling && high < y + 28 * PX) high = y + 28 * PX;
    draw_figure(chart, high + 4 * PX, "high water", chart->highest, out);
}

void draw_lanes(const Chart *chart, Writer *out) {
    for (uint32_t i = 0; i < chart->nlanes; i++) {
        const Lane *lane = &chart->lanes[i];
        write_text(out, "<rect class=\"lane\"");
        svg_box(out, chart->left, lane->top, chart->width, lane->height);
        write_text(out, "/>\n");
        draw_point_grid(chart, lane, out);
        draw_byte_ticks(chart, lane, out);
        draw_lane_name(lane, out);
    }
}

void draw_limits(const Chart *chart, Writer *out) {
    for (uint32_t i = 0; i < chart->nlanes; i++)
        draw_capacity(chart, &chart->lanes[i], out);
    if (chart->usable > chart->lanes[0].ceiling) return;
    draw_figure(chart, lane_y(chart->lanes, chart->usable) + 4 * PX, "usable", chart->usable, out);
}

/* ---- between copies, and DMAs on tensors ---- */

static const Lane *lane_of(const Chart *chart, uint8_t mask) {
    for (uint32_t i = 0; i < chart->nlanes; i++)
        if (chart->lanes[i].mask & mask) return &chart->lanes[i];
    return chart->lanes;
}

/* The middle and the foot of a tensor's first block, in the first lane where it is. */
static int64_t middle_of(const Chart *chart, uint32_t id) {
    const Tensor *tensor = &chart->func->tensors[id];
    const Lane *lane = lane_of(chart, tensor_rect(tensor, tensor->at[0]).mask);
    return lane_y(lane, tensor->at[0].byte + tensor->bytes / 2);
}

static int64_t foot_of(const Chart *chart, uint32_t id) {
    const Tensor *tensor = &chart->func->tensors[id];
    const Lane *lane = lane_of(chart, tensor_rect(tensor, tensor->at[0]).mask);
    return lane_y(lane, tensor->at[0].byte);
}

static void draw_gap(const Chart *chart, ChartGap gap, Writer *out) {
    LiveRange before = chart->item->live->whole[gap.before];
    uint32_t last = before.items[before.count - 1].last;
    uint32_t first = chart->item->live->whole[gap.after].items[0].first;
    write_text(out, "<path class=\"gap\" d=\"M");
    svg_length(out, chart_x(chart, last + 1));
    write_char(out, ' ');
    svg_length(out, middle_of(chart, gap.before));
    write_char(out, 'L');
    svg_length(out, chart_x(chart, first));
    write_char(out, ' ');
    svg_length(out, middle_of(chart, gap.after));
    write_text(out, "\"><title>%");
    svg_escape(out, chart->original[gap.after]);
    write_format(out, " is in DRAM alone from point %u to %u</title></path>\n", last, first);
}

static void draw_mark(const Chart *chart, uint32_t point, uint32_t id, bool spill, Writer *out) {
    enum { HALF = 4 * PX, HIGH = 7 * PX };
    if (!chart->shown[id]) return;
    int64_t x = chart_middle(chart, point), foot = foot_of(chart, id);
    write_format(out, "<path class=\"%s\" d=\"M", spill ? "spill" : "reload");
    svg_length(out, x - HALF);
    write_char(out, ' ');
    svg_length(out, spill ? foot - HIGH : foot);
    write_text(out, "h");
    svg_length(out, 2 * HALF);
    write_text(out, "l");
    svg_length(out, -HALF);
    write_char(out, ' ');
    svg_length(out, spill ? HIGH : -HIGH);
    write_text(out, "z\"/>\n");
}

void draw_gaps(const Chart *chart, Writer *out) {
    for (size_t i = 0; i < chart->ngaps; i++)
        draw_gap(chart, chart->gaps[i], out);
    int64_t free = INT64_MIN; /* marks must be half a pixel apart to be seen */
    for (uint32_t p = 0; p < chart->points; p++) {
        const Inst *inst = &chart->func->insts[p];
        bool spill = dma_is_store(inst);
        if ((!spill && !dma_is_reload(inst)) || chart_x(chart, p) < free) continue;
        draw_mark(chart, p, spill ? inst_src(inst)->tensor : inst_dst(inst)->tensor, spill, out);
        free = chart_x(chart, p) + PX / 2;
    }
}
