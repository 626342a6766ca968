#include "output/svg_chart.h"

/* A step curve of granules: where several points share half a pixel, the most of them.
 * `filled`: down to the foot. */
static void write_curve(const Chart *chart, const uint32_t *need, bool filled, Writer *out) {
    enum { FINEST = PX / 2 };
    const Lane *lane = &chart->pressure;
    int64_t foot = lane->top + lane->height, height = INT64_MIN;
    write_format(out, "<path class=\"%s\" d=\"", filled ? "need" : "before");
    if (filled) {
        write_char(out, 'M');
        svg_length(out, chart->left);
        write_char(out, ' ');
        svg_length(out, foot);
    }
    for (uint32_t p = 0, next; p < chart->points; p = next) {
        uint32_t most = need[p];
        int64_t x = chart_x(chart, p);
        for (next = p + 1; next < chart->points && chart_x(chart, next) < x + FINEST; next++)
            if (need[next] > most) most = need[next];
        int64_t y = lane_y(lane, (int64_t)most * GRANULE);
        if (y < lane->top) y = lane->top;
        if (y == height) continue;
        write_char(out, filled || p > 0 ? 'H' : 'M');
        svg_length(out, x);
        write_char(out, filled || p > 0 ? 'V' : ' ');
        svg_length(out, y);
        height = y;
    }
    write_char(out, 'H');
    svg_length(out, chart->left + chart->width);
    if (filled) {
        write_char(out, 'V');
        svg_length(out, foot);
        write_char(out, 'z');
    }
    write_text(out, "\"/>\n");
}

/* Two lines at the right of the curve: a name and a number of bytes. */
static void write_figure(const Chart *chart, int64_t y, const char *name, int64_t bytes,
                         Writer *out) {
    int64_t x = chart->left + chart->width + 8 * PX;
    svg_text(out, "axis", x, y, ANCHOR_START, name);
    svg_open_text(out, "axis", x, y + 13 * PX, ANCHOR_START);
    svg_number(out, bytes);
    svg_close_text(out);
}

/* Two strokes across an edge of the frame: the scale does not go on to the capacity. */
static void draw_break(int64_t x, int64_t y, Writer *out) {
    for (int i = 0; i < 2; i++)
        svg_line(out, "tick", x - 5 * PX, y + (3 + 4 * i) * PX, x + 5 * PX, y + (4 * i - 1) * PX);
}

static void draw_usable(const Chart *chart, Writer *out) {
    const Lane *lane = &chart->pressure;
    int64_t right = chart->left + chart->width, y = lane->top;
    bool inside = chart->usable <= lane->ceiling;
    if (inside) {
        y = lane_y(lane, chart->usable);
    } else {
        draw_break(chart->left, y + 6 * PX, out);
        draw_break(right, y + 6 * PX, out);
    }
    svg_line(out, "capacity", chart->left, y, right + 6 * PX, y);
    int64_t at = y + 12 * PX, lowest = lane->top + lane->height - 42 * PX;
    if (chart->before > 0 && at < lane->top + 38 * PX) at = lane->top + 38 * PX;
    if (at > lowest) at = lowest;
    write_figure(chart, at, inside ? "usable" : "usable, far above", chart->usable, out);
}

void draw_pressure(const Chart *chart, Writer *out) {
    const Lane *lane = &chart->pressure;
    write_text(out, "<rect class=\"lane\"");
    svg_box(out, chart->left, lane->top, chart->width, lane->height);
    write_text(out, "/>\n");
    svg_text(out, "name", chart->left - 8 * PX, lane->top + 14 * PX, ANCHOR_END, "bytes taken");
    if (chart->points > 0) {
        write_curve(chart, chart->need, true, out);
        if (chart->before > 0) write_curve(chart, chart->usage->outline, false, out);
        int64_t foot = lane->top + lane->height;
        write_figure(chart, foot - 14 * PX, "most taken", chart->peak, out);
        if (chart->before > 0)
            write_figure(chart, lane->top + 10 * PX, "before spilling", chart->before, out);
    }
    draw_usable(chart, out);
}
