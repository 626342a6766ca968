#include "output/svg_chart.h"

/* The step curve of bytes needed: where several points share half a pixel, the most of them. */
static void write_curve(const Chart *chart, const Lane *lane, Writer *out) {
    enum { FINEST = PX / 2 };
    int64_t foot = lane->top + lane->height, height = INT64_MIN;
    write_text(out, "<path class=\"need\" d=\"M");
    svg_length(out, chart->left);
    write_char(out, ' ');
    svg_length(out, foot);
    for (uint32_t p = 0, next; p < chart->points; p = next) {
        uint32_t most = chart->need[p];
        int64_t x = chart_x(chart, p);
        for (next = p + 1; next < chart->points && chart_x(chart, next) < x + FINEST; next++)
            if (chart->need[next] > most) most = chart->need[next];
        int64_t y = lane_y(lane, (int64_t)most * GRANULE);
        if (y == height) continue;
        height = y;
        write_char(out, 'H');
        svg_length(out, x);
        write_char(out, 'V');
        svg_length(out, y);
    }
    write_char(out, 'H');
    svg_length(out, chart->left + chart->width);
    write_char(out, 'V');
    svg_length(out, foot);
    write_text(out, "z\"/>\n");
}

static void write_most_needed(const Chart *chart, Writer *out) {
    int64_t x = chart->left + chart->width + 8 * PX;
    int64_t y = chart->pressure.top + chart->pressure.height;
    svg_text(out, "axis", x, y - 14 * PX, ANCHOR_START, "most needed");
    svg_open_text(out, "axis", x, y - PX, ANCHOR_START);
    svg_number(out, chart->peak);
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
    svg_text(out, "axis", right + 8 * PX, y + 12 * PX, ANCHOR_START,
             inside ? "usable" : "usable, far above");
    svg_open_text(out, "axis", right + 8 * PX, y + 25 * PX, ANCHOR_START);
    svg_number(out, chart->usable);
    svg_close_text(out);
}

void draw_pressure(const Chart *chart, Writer *out) {
    const Lane *lane = &chart->pressure;
    write_text(out, "<rect class=\"lane\"");
    svg_box(out, chart->left, lane->top, chart->width, lane->height);
    write_text(out, "/>\n");
    svg_text(out, "name", chart->left - 8 * PX, lane->top + 14 * PX, ANCHOR_END, "bytes needed");
    if (chart->points > 0) {
        write_curve(chart, lane, out);
        write_most_needed(chart, out);
    }
    draw_usable(chart, out);
}
