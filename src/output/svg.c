#include "output/svg.h"

#include "ir/dma.h"
#include "output/svg_chart.h"

/* ---- colours ---- */

/* Twelve hues of even lightness: fill and edge on a light page, fill and edge on a dark one. */
static const struct {
    const char *fill, *edge, *dark_fill, *dark_edge;
} PALETTE[COLOURS] = {
    {"#ffb7bc", "#a3575f", "#6a353a", "#ce7e84"}, {"#f3b397", "#a15d3e", "#72422b", "#cc8463"},
    {"#efc68f", "#936823", "#5f4110", "#bc8f4d"}, {"#ccc887", "#7a7424", "#56521b", "#a19c4e"},
    {"#b6dba3", "#577e41", "#355125", "#7da667"}, {"#8ed6b6", "#288463", "#1e5d45", "#55ac89"},
    {"#88e0df", "#008384", "#005454", "#39abab"}, {"#85d0ee", "#127d9d", "#11586f", "#48a5c7"},
    {"#a9d1ff", "#4773ab", "#2a496f", "#6d9bd5"}, {"#bebdfa", "#6c68a9", "#4c4977", "#928fd4"},
    {"#e3bdf4", "#875f9a", "#573b63", "#b085c3"}, {"#edaed1", "#9a587f", "#6d3e59", "#c57fa6"},
};

static const char STYLE[] =
    "text{font:11px ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace;fill:#1f2328}\n"
    ".head{font:600 17px system-ui,\"DejaVu Sans\",sans-serif}\n"
    ".said,.axis,.name,.key{font:12px system-ui,\"DejaVu Sans\",sans-serif;fill:#57606a}\n"
    ".axis,.name{font-size:11px}.said{fill:#1f2328}\n"
    ".page{fill:#fff}.lane{fill:#f6f8fa;stroke:#afb8c1}\n"
    ".grid{stroke:#8c959f;stroke-opacity:.25}.tick{stroke:#57606a}\n"
    ".odd rect{fill-opacity:.7}.n,.s{stroke:none}.t:hover "
    "rect{stroke:#1f2328;stroke-width:2.5}.label{pointer-events:none}\n"
    ".more{fill-opacity:.7;font-size:10px}\n"
    ".copy rect{stroke-dasharray:5 3;stroke-width:1.5}.pin rect{stroke-width:3}\n"
    "rect.hatch{fill:url(#hatch);stroke:none;pointer-events:none}.line{stroke:#1f2328}\n"
    "rect.enter,rect.leave{stroke:none;fill:#1f2328;fill-opacity:.65;pointer-events:none}\n"
    ".crowd path{stroke:#8c959f;stroke-width:2}\n"
    ".capacity{stroke:#cf222e;stroke-width:1.5;stroke-dasharray:8 4}\n"
    ".water{stroke:#57606a;stroke-dasharray:1 3}\n"
    ".need{fill:#0969da;fill-opacity:.18;stroke:#0969da;stroke-width:1.5}\n"
    ".before{fill:none;stroke:#cf222e;stroke-width:1.5;stroke-opacity:.8}\n"
    ".idle{fill:#fff;fill-opacity:.5;stroke:none;pointer-events:none}\n"
    ".hole{fill:#57606a;fill-opacity:.16;stroke:none}\n"
    ".room{fill:#1a7f37;fill-opacity:.08;stroke:#1a7f37;stroke-width:1.5;stroke-dasharray:3 3}\n"
    ".changed rect{stroke:#cf222e;stroke-width:2.5}\n"
    ".spill{fill:#bc4c00}.reload{fill:#8250df}.dma{fill:#6e7781}\n"
    ".gap{fill:none;stroke:#bc4c00;stroke-width:1.5;stroke-dasharray:4 4}\n"
    ".loop path{fill:none;stroke:#57606a;stroke-width:1.5}.none{fill:none;stroke:#57606a}\n";

static const char DARK_STYLE[] =
    "text,.said{fill:#e6edf3}.axis,.name,.key{fill:#9ba6b2}\n"
    ".page{fill:#0d1117}.lane{fill:#161b22;stroke:#484f58}.tick{stroke:#9ba6b2}\n"
    ".t:hover rect{stroke:#fff}.line{stroke:#e6edf3}\n"
    "rect.enter,rect.leave{fill:#e6edf3}.crowd path{stroke:#6e7681}\n"
    ".capacity{stroke:#ff7b72}.water{stroke:#9ba6b2}\n"
    ".need{fill:#58a6ff;stroke:#58a6ff}.spill{fill:#ffa657}.reload{fill:#d2a8ff}.dma{fill:#8b949e}"
    "\n"
    ".before{stroke:#ff7b72}.idle{fill:#0d1117}.hole{fill:#9ba6b2}\n"
    ".room{fill:#3fb950;stroke:#3fb950}.changed rect{stroke:#ff7b72}\n"
    ".gap{stroke:#ffa657}.loop path,.none{stroke:#9ba6b2}\n";

/* What is very thin takes the stronger colour of the edge. */
static void write_colour(Writer *out, int colour, const char *fill, const char *edge) {
    write_format(out, ".c%d{fill:%s;stroke:%s}.c%d .s{fill:%s}\n", colour, fill, edge, colour,
                 edge);
}

static void write_style(Writer *out) {
    write_text(out, "<style>\n");
    write_text(out, STYLE);
    for (int i = 0; i < COLOURS; i++)
        write_colour(out, i, PALETTE[i].fill, PALETTE[i].edge);
    write_text(out, "@media (prefers-color-scheme:dark){\n");
    write_text(out, DARK_STYLE);
    for (int i = 0; i < COLOURS; i++)
        write_colour(out, i, PALETTE[i].dark_fill, PALETTE[i].dark_edge);
    /* Names keep their own colour within a group that has another. */
    write_text(out, "}\n.t text{stroke:none}\n</style>\n");
    write_text(out, "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" "
                    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                    "<line class=\"line\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\" "
                    "stroke-opacity=\".45\"/></pattern></defs>\n");
}

/* ---- heading ---- */

static void write_share(Writer *out, int64_t part, int64_t whole) {
    int64_t tenths = whole > 0 ? (part * 2000 / whole + 1) / 2 : 0;
    write_format(out, " (%lld.%lld %%)", (long long)(tenths / 10), (long long)(tenths % 10));
}

static void draw_figures(const Chart *chart, Writer *out) {
    svg_open_text(out, "said", 18 * PX, 45 * PX, ANCHOR_START);
    svg_escape(out, chart->target->name);
    write_text(out, ": ");
    svg_number(out, chart->usable);
    write_text(out, " bytes per partition usable \xC2\xB7 high water ");
    svg_number(out, chart->highest);
    write_share(out, chart->highest, chart->usable);
    write_text(out, " \xC2\xB7 most taken at once: ");
    svg_number(out, chart->peak);
    if (chart->before > 0) {
        write_text(out, ", needed before spilling ");
        svg_number(out, chart->before);
    }
    svg_close_text(out);
}

/* Where nothing was allocated here: what the text says. */
static void write_dmas_of_text(const Chart *chart, Writer *out) {
    DmaSum sum = sum_dmas(chart->func, chart->target);
    svg_count(out, sum.saves, "store");
    write_text(out, " of spilling, ");
    svg_count(out, sum.reloads, "reload");
    write_text(out, " \xC2\xB7 ");
    svg_count(out, sum.cycles, "cycle");
    write_text(out, " of DMA in all");
}

static void write_spills(const Report *report, Writer *out) {
    svg_count(out, report->spilled_tensors, "tensor");
    write_text(out, " spilled, ");
    svg_count(out, report->spilled_bytes_per_partition, "byte");
    write_text(out, " per partition \xC2\xB7 ");
    svg_count(out, report->saves, "store");
    write_text(out, ", ");
    svg_count(out, report->reloads, "reload");
    write_text(out, " \xC2\xB7 ");
    svg_count(out, report->spill_cycles, "cycle");
    write_text(out, " of DMA added");
}

static void draw_spills(const Chart *chart, Writer *out) {
    const Report *report = chart->item->report;
    svg_open_text(out, "said", 18 * PX, 63 * PX, ANCHOR_START);
    if (!report)
        write_dmas_of_text(chart, out);
    else if (report->spilled_tensors > 0)
        write_spills(report, out);
    else
        write_text(out, "nothing spilled \xC2\xB7 0 cycles of DMA added");
    svg_close_text(out);
}

static void draw_heading(const Chart *chart, Writer *out) {
    svg_open_text(out, "head", 18 * PX, 24 * PX, ANCHOR_START);
    write_char(out, '@');
    svg_clip_titled(out, chart->func->name, (uint32_t)(chart->page / (12 * PX)));
    if (chart->request->side) write_text(out, chart->request->side);
    svg_close_text(out);
    draw_figures(chart, out);
    draw_spills(chart, out);
}

/* ---- legend ---- */

typedef struct {
    bool wanted;
    const char *text;
    const char *swatch; /* within 22 by 12 pixels */
} Entry;

/* Draws the entries that the picture needs, in rows. */
uint32_t draw_legend(const Chart *chart, Writer *out) {
#define BOX "x=\"1\" y=\"1\" width=\"20\" height=\"10\"/>"
    const Features *has = &chart->has;
    const Entry entries[] = {
        {chart->npieces > 0, "tensor (colour by name)", "<g class=\"c8\"><rect " BOX "</g>"},
        {has->fixed, "fixed", "<g class=\"c8\"><rect " BOX "<rect class=\"hatch\" " BOX "</g>"},
        {has->pinned, "pinned", "<g class=\"c8 pin\"><rect " BOX "</g>"},
        {has->input, "input",
         "<g class=\"c8\"><rect " BOX
         "<rect class=\"enter\" x=\"1\" y=\"1\" width=\"4\" height=\"10\"/></g>"},
        {has->output, "output",
         "<g class=\"c8\"><rect " BOX
         "<rect class=\"leave\" x=\"17\" y=\"1\" width=\"4\" height=\"10\"/></g>"},
        {has->copy, "working copy of a spilled tensor", "<g class=\"c8 copy\"><rect " BOX "</g>"},
        {chart->npieces > 0, "paler: not accessed",
         "<g class=\"c8\"><rect " BOX "<path class=\"idle\" d=\"M7 1.5h9v9h-9z\"/></g>"},
        {has->changed, "changed", "<g class=\"c8 changed\"><rect " BOX "</g>"},
        {has->crowd, "many small ones", "<g class=\"crowd\"><path d=\"M1 4h20M3 8h12\"/></g>"},
        {has->gap, "in DRAM between copies", "<path class=\"gap\" d=\"M0 6h22\"/>"},
        {has->spill, "store of spilling", "<path class=\"spill\" d=\"M6 1h10l-5 10z\"/>"},
        {has->reload, "reload", "<path class=\"reload\" d=\"M6 11h10l-5 -10z\"/>"},
        {has->dma, "DMA of the program", "<path class=\"dma\" d=\"M1 11h8l-4 -9zM12 2h8l-4 9z\"/>"},
        {chart->points > 0, "bytes taken", "<path class=\"need\" d=\"M1 11V6h8V2h12V11z\"/>"},
        {chart->before > 0, "needed before spilling",
         "<path class=\"before\" d=\"M1 10V4h8V1h12V10\"/>"},
        {has->hole, "free in small pieces", "<path class=\"hole\" d=\"M1 1h20v10h-20z\"/>"},
        {has->room, "largest free at the worst point", "<rect class=\"room\" " BOX},
        {true, "usable", "<path class=\"capacity\" d=\"M0 6h22\"/>"},
    };
#undef BOX
    enum { SWATCH = 28 * PX, LETTER = 640, SPACE = 16 * PX, MARGIN = 18 * PX };
    int64_t x = MARGIN;
    uint32_t rows = 1;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (!entries[i].wanted) continue;
        int64_t width = SWATCH + (int64_t)str_from(entries[i].text).length * LETTER;
        if (x + width > chart->page - MARGIN) {
            x = MARGIN;
            rows++;
        }
        if (out) {
            write_text(out, "<g transform=\"translate(");
            svg_length(out, x);
            write_char(out, ' ');
            svg_length(out, chart->legend + ((int64_t)rows - 1) * 20 * PX);
            write_format(out, ")\">%s", entries[i].swatch);
            svg_text(out, "key", SWATCH, 10 * PX, ANCHOR_START, entries[i].text);
            write_text(out, "</g>\n");
        }
        x += width + SPACE;
    }
    return rows;
}

/* ---- the page ---- */

static void draw_function(const Chart *chart, int64_t y, Writer *out) {
    write_text(out, "<g class=\"function\" transform=\"translate(0 ");
    svg_length(out, y);
    write_text(out, ")\">\n");
    draw_heading(chart, out);
    draw_legend(chart, out);
    draw_pressure(chart, out);
    draw_lanes(chart, out);
    draw_holes(chart, out);
    draw_tensors(chart, out);
    draw_room(chart, out);
    draw_limits(chart, out);
    draw_gaps(chart, out);
    draw_axis(chart, out);
    draw_dmas(chart, out);
    draw_loops(chart, out);
    draw_peaks(chart, out);
    write_text(out, "</g>\n");
}

static void open_page(int64_t width, int64_t height, Writer *out) {
    write_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    svg_attribute(out, "width", width);
    svg_attribute(out, "height", height);
    write_text(out, " viewBox=\"0 0 ");
    svg_length(out, width);
    write_char(out, ' ');
    svg_length(out, height);
    write_text(out, "\">\n");
    write_style(out);
    write_text(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
}

/* Pictures one below another; they are made twice, to know the size of the page first: memory is
 * that of one function. */
typedef struct {
    const ChartRequest *items;
    uint32_t count;
} Page;

static void write_page(Page page, Writer *out) {
    enum { LEAST_WIDTH = 400 * PX, GAP = 16 * PX };
    int64_t width = LEAST_WIDTH, height = GAP;
    for (int pass = 0; pass < 2; pass++) {
        int64_t y = 0;
        if (pass == 1) open_page(width, height, out);
        for (uint32_t i = 0; i < page.count; i++) {
            Arena arena;
            arena_init(&arena);
            Chart chart = chart_make(&page.items[i], &arena);
            if (pass == 1) draw_function(&chart, y, out);
            if (chart.page > width) width = chart.page;
            y += chart.height + GAP;
            arena_free(&arena);
        }
        if (y > height) height = y;
    }
    write_text(out, "</svg>\n");
}

static const Usage *usage_of(const Drawing *drawing, uint32_t index, Arena *arena) {
    Usage *usage = NEW(arena, Usage);
    *usage = find_usage(drawing, index, arena);
    return usage;
}

void write_svg(const Drawing *drawing, Writer *out) {
    Arena arena;
    arena_init(&arena);
    ChartRequest *requests = NEW_ARRAY(&arena, ChartRequest, drawing->count);
    for (uint32_t i = 0; i < drawing->count; i++)
        requests[i] =
            (ChartRequest){.drawing = drawing, .index = i, .usage = usage_of(drawing, i, &arena)};
    write_page((Page){requests, drawing->count}, out);
    arena_free(&arena);
}

/* ---- before and after ---- */

static void mark_changed(const Func *func, const TensorChange *change, Side side, bool *changed) {
    const Version *version = change->versions[side];
    if (!version) return;
    const Tensor *begin = func->tensors, *end = func->tensors + func->ntensors;
    if (version->tensor >= begin && version->tensor < end) changed[version->tensor - begin] = true;
    for (size_t i = 0; i < version->copies.count; i++)
        changed[version->copies.items[i] - begin] = true;
}

static const bool *find_changed(const FuncChanges *changes, Side side, Arena *arena) {
    const Func *func = changes->funcs[side];
    bool *changed = NEW_ARRAY(arena, bool, func->ntensors);
    for (int kind = 0; kind < CHANGE_KINDS; kind++)
        for (size_t i = 0; i < changes->lists[kind].count; i++)
            mark_changed(func, &changes->lists[kind].items[i], side, changed);
    return changed;
}

/* A drawing's functions are those of a module, in their order. */
static uint32_t index_of(const Drawing *drawing, const Func *func) {
    return (uint32_t)(func - drawing->funcs[0].func);
}

/* Makes room for what one picture needs by itself. */
static void widen(ChartScale *scale, const ChartRequest *request, Arena *arena) {
    Chart own = chart_make(request, arena);
    if (own.points > scale->points) scale->points = own.points;
    if (own.func->ntensors > scale->tensors) scale->tensors = own.func->ntensors;
    if (own.nlanes > scale->lanes) scale->lanes = own.nlanes;
    if (own.peak > scale->most) scale->most = own.peak;
    if (own.highest > scale->most) scale->most = own.highest;
    if (own.usable > scale->usable) scale->usable = own.usable;
}

/* The requests for one function; returns how many. */
static uint32_t request_both(const Drawing drawings[SIDES], const FuncChanges *changes,
                             ChartRequest *requests, Arena *arena) {
    static const char *const NAMES[] = {", before", ", after"};
    uint32_t count = 0;
    Palette *palette = NEW(arena, Palette);
    strmap_init(&palette->of, arena);
    for (int side = 0; side < SIDES; side++) {
        if (!changes->funcs[side]) continue;
        uint32_t index = index_of(&drawings[side], changes->funcs[side]);
        requests[count++] = (ChartRequest){.drawing = &drawings[side],
                                           .index = index,
                                           .usage = usage_of(&drawings[side], index, arena),
                                           .palette = palette,
                                           .side = NAMES[side],
                                           .changed = find_changed(changes, (Side)side, arena)};
    }
    ChartScale scale = {0};
    for (uint32_t i = 0; i < count; i++)
        widen(&scale, &requests[i], arena);
    for (uint32_t i = 0; i < count; i++)
        requests[i].scale = scale;
    return count;
}

void write_svg_changes(const Drawing drawings[SIDES], const Changes *changes, Writer *out) {
    Arena arena;
    arena_init(&arena);
    ChartRequest *requests = NEW_ARRAY(&arena, ChartRequest, SIDES * changes->nfuncs);
    uint32_t count = 0;
    for (size_t i = 0; i < changes->nfuncs; i++)
        count += request_both(drawings, &changes->funcs[i], requests + count, &arena);
    write_page((Page){requests, count}, out);
    arena_free(&arena);
}
