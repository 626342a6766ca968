#include "output/page.h"

#include <math.h>
#include <string.h>

#include "driver/peak_text.h"
#include "ir/dma.h"
#include "ir/names.h"
#include "ir/runs.h"
#include "output/stats.h"
#include "output/svg_write.h"
#include "page_css.h"
#include "page_js.h"
#include "spill/rewrite.h"
#include "text/print.h"

/* The data of the page, in arrays where there are many: {"file", "functions": [{"name", "side",
 * "target", "usable", "report", "tensors", "loops", "insts", "need", "before", "peaks"}]}. The
 * parts below say what each holds. Numbers of bytes are for a partition, points count from 0. */

typedef struct {
    JsonOut json;
    const Drawing *drawing;
    const JsonFunc *item;
    const char *side; /* follows the name: of a file that was placed, in which no place is told to
                         have been given; else NULL */
    const Usage *usage;
    Writer text; /* of one string */
} PageOut;

static void key_int(JsonOut *json, const char *key, int64_t number) {
    json_key(json, key);
    json_int(json, number);
}

static void key_str(JsonOut *json, const char *key, Str text) {
    json_key(json, key);
    json_str(json, text);
}

/* What has been written to page->text, as a string. */
static void put_text(PageOut *page) {
    json_str(&page->json, (Str){page->text.buffer, (uint32_t)page->text.length});
    page->text.length = 0;
}

/* ---- tensors ---- */

static void put_range(JsonOut *json, LiveRange range) {
    json_open(json, '[');
    for (uint32_t i = 0; i < range.count; i++) {
        json_int(json, range.items[i].first);
        json_int(json, range.items[i].last);
    }
    json_close(json, ']');
}

/* "live": [first, last, ...] of each block, or one for all; "at": [partition, byte, ...]. */
static void put_places(PageOut *page, uint32_t id) {
    JsonOut *json = &page->json;
    const Tensor *tensor = &page->item->func->tensors[id];
    const Live *live = page->item->live;
    int64_t ranges = tensor->space != SPACE_SB ? 0 : live->blocks[id] ? tensor->blocks : 1;
    json_key(json, "live");
    json_open(json, '[');
    for (int64_t b = 0; b < ranges; b++)
        put_range(json, live_block(live, id, b));
    json_close(json, ']');
    json_key(json, "at");
    json_open(json, '[');
    for (int64_t b = 0; tensor->space == SPACE_SB && tensor->at && b < tensor->blocks; b++) {
        json_int(json, tensor->at[b].partition);
        json_int(json, tensor->at[b].byte);
    }
    json_close(json, ']');
}

/* `input`, `output`, `pin`, `fixed`, `copy` and `home`, each that holds. */
static void put_kinds(PageOut *page, const Tensor *tensor) {
    Str stem;
    const Meta *of = meta_find(tensor->meta, "of");
    const struct {
        bool holds;
        const char *name;
    } kinds[] = {
        {tensor->input, "input"},
        {tensor->output, "output"},
        {tensor->pin, "pin"},
        {tensor->fixed && !page->side, "fixed"},
        {of && tensor->space == SPACE_SB && derived_stem(tensor->name, COPY_MARK, &stem), "copy"},
        {of && tensor->space == SPACE_DRAM, "home"}};
    json_key(&page->json, "kinds");
    json_open(&page->json, '[');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].holds) json_text(&page->json, kinds[i].name);
    json_close(&page->json, ']');
}

/* "root": the tensor of the input that it is or stands for; "cost": cycles that spilling it costs,
 * null where that must not be; "offset": of a home. */
static void put_tensor(PageOut *page, uint32_t id) {
    JsonOut *json = &page->json;
    const Tensor *tensor = &page->item->func->tensors[id];
    const Meta *of = meta_find(tensor->meta, "of");
    bool made = of && of->kind == META_TEXT && of->text.length > 0;
    json_open(json, '{');
    key_str(json, "name", tensor->name);
    key_str(json, "root", made ? of->text : tensor->name);
    key_str(json, "space", space_name(tensor->space));
    json_key(json, "type");
    print_type(tensor, &page->text);
    put_text(page);
    key_int(json, "blocks", tensor->blocks);
    key_int(json, "partitions", tensor->partitions);
    key_int(json, "bytes", tensor->bytes);
    put_kinds(page, tensor);
    if (tensor->offset >= 0) key_int(json, "offset", tensor->offset);
    if (page->item->cost && tensor->space == SPACE_SB) {
        double cost = page->item->cost[id];
        json_key(json, "cost");
        json_real(json, cost < 1e15 ? cost : INFINITY);
    }
    put_places(page, id);
    json_close(json, '}');
}

/* ---- code ---- */

/* [name, low, high, first point, end, depth] */
static void put_loop(PageOut *page, const Loop *loop) {
    JsonOut *json = &page->json;
    json_open(json, '[');
    json_str(json, loop->name);
    json_int(json, loop->low);
    json_int(json, loop->high);
    json_int(json, loop->first);
    json_int(json, loop->end);
    json_int(json, loop->depth);
    json_close(json, ']');
}

/* [tensor, first block, last block, 1 if it is written, ...] */
static void put_operands(PageOut *page, const Inst *inst) {
    JsonOut *json = &page->json;
    json_open(json, '[');
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        BlockSpan span = operand_blocks(page->item->func, &inst->operands[o]);
        json_int(json, inst->operands[o].tensor);
        json_int(json, span.first);
        json_int(json, span.last);
        json_int(json, o < inst->ndst);
    }
    json_close(json, ']');
}

/* [text, where, kind, operands], and of a DMA [cycles, runs]. Kind: 1 load, 2 save, 3 copy, else 0;
 * 4 more for a store of spilling, 8 more for a reload. */
static void put_inst(PageOut *page, uint32_t point) {
    JsonOut *json = &page->json;
    const Func *func = page->item->func;
    const Inst *inst = &func->insts[point];
    bool dma = inst->kind == OP_LOAD || inst->kind == OP_SAVE;
    int kind = inst->kind == OP_LOAD   ? 1
               : inst->kind == OP_SAVE ? 2
               : inst->kind == OP_COPY ? 3
                                       : 0;
    if (dma_is_inserted(inst)) kind += inst->kind == OP_SAVE ? 4 : 8;
    json_open(json, '[');
    print_inst(func, inst, &page->text);
    put_text(page);
    json_str(json, page->usage->where[point]);
    json_int(json, kind);
    put_operands(page, inst);
    if (dma) {
        json_int(json, sum_dma(func, inst, page->drawing->target).cycles);
        json_int(json, inst_runs(func, inst));
    }
    json_close(json, ']');
}

static void put_code(PageOut *page) {
    JsonOut *json = &page->json;
    const Func *func = page->item->func;
    json_key(json, "loops");
    json_open(json, '[');
    for (uint32_t l = 0; l < func->nloops; l++)
        put_loop(page, &func->loops[l]);
    json_close(json, ']');
    json_key(json, "insts");
    json_open(json, '[');
    for (uint32_t p = 0; p < func->ninsts; p++)
        put_inst(page, p);
    json_close(json, ']');
}

/* ---- need ---- */

static void put_needs(JsonOut *json, const char *key, const uint32_t *need, uint32_t count) {
    json_key(json, key);
    json_open(json, '[');
    for (uint32_t p = 0; p < count; p++)
        json_int(json, (int64_t)need[p] * GRANULE);
    json_close(json, ']');
}

/* A peak, and where its points are in the result. */
typedef struct {
    const char *when;
    const Peak *peak;
    const uint32_t *moved; /* [ninsts of its function] or NULL: they are the result's */
} PagePeak;

static uint32_t moved_to(const PagePeak *of, uint32_t point) {
    return of->moved ? of->moved[point] : point;
}

/* `12`, or `12\xE2\x80\x9319`: without directories. */
static void put_lines(PageOut *page, const PagePeak *of, const PeakTensor *one) {
    Arena scratch;
    arena_init(&scratch);
    Str from = base_name(where_of_moment(page->usage, of->peak, one->first, &scratch));
    Str to = base_name(where_of_moment(page->usage, of->peak, one->last, &scratch));
    write_str(&page->text, from);
    if (!str_equal(from, to)) {
        write_text(&page->text, "\xE2\x80\x93");
        write_str(&page->text, to);
    }
    put_text(page);
    arena_free(&scratch);
}

/* [name, blocks, bytes of all, partitions, first point, last point, lines, 1 if it is used there,
 * point of its next access or -1; where it shares the place of a tensor: its name, and of how many
 * bytes] */
static void put_live_there(PageOut *page, const PagePeak *of, const PeakTensor *one) {
    JsonOut *json = &page->json;
    const Tensor *tensor = &of->peak->func->tensors[one->tensor];
    json_open(json, '[');
    json_str(json, tensor->name);
    json_int(json, one->blocks);
    json_int(json, one->bytes);
    json_int(json, tensor->partitions);
    json_int(json, moved_to(of, one->first.point));
    json_int(json, moved_to(of, one->last.point));
    put_lines(page, of, one);
    json_int(json, one->used);
    json_int(json, one->next.point == UINT32_MAX ? -1 : (int64_t)moved_to(of, one->next.point));
    if (one->shared > 0) {
        json_str(json, of->peak->func->tensors[one->shares].name);
        json_int(json, one->shared);
    }
    json_close(json, ']');
}

/* {"when", "point", "bytes", "where", "iteration", "text", "live": what lives there, the largest
 * first}. Points are those of the result, tensors those of the function that it is of. */
static void put_peak(PageOut *page, const PagePeak *of) {
    JsonOut *json = &page->json;
    const Peak *peak = of->peak;
    Arena scratch;
    arena_init(&scratch);
    json_open(json, '{');
    json_key(json, "when");
    json_text(json, of->when);
    key_int(json, "point", moved_to(of, peak->at.point));
    key_int(json, "bytes", peak->needed);
    key_str(json, "where", where_of_moment(page->usage, peak, peak->at, &scratch));
    json_key(json, "iteration");
    write_iteration(peak->func, peak->at, &page->text);
    put_text(page);
    json_key(json, "text");
    print_inst(peak->func, &peak->func->insts[peak->at.point], &page->text);
    put_text(page);
    json_key(json, "live");
    json_open(json, '[');
    for (uint32_t i = 0; i < peak->count; i++)
        put_live_there(page, of, &peak->tensors[i]);
    json_close(json, ']');
    json_close(json, '}');
    arena_free(&scratch);
}

/* [ninsts of the input] points of the result; of a load that is gone the next that is there. */
static const uint32_t *find_moved(const JsonFunc *item, Arena *arena) {
    uint32_t *moved = RAW_ARRAY(arena, uint32_t, item->input->ninsts);
    uint32_t next = item->func->ninsts ? item->func->ninsts - 1 : 0, input = item->input->ninsts;
    for (uint32_t p = item->func->ninsts; p-- > 0;) {
        if (item->origin_inst[p] == INSERTED) continue;
        while (input > item->origin_inst[p] + 1)
            moved[--input] = next;
        moved[--input] = next = p;
    }
    while (input > 0)
        moved[--input] = next;
    return moved;
}

static void put_usage(PageOut *page) {
    JsonOut *json = &page->json;
    const JsonFunc *item = page->item;
    const Usage *usage = page->usage;
    put_needs(json, "need", usage->need, item->func->ninsts);
    if (usage->before) put_needs(json, "before", usage->outline, item->func->ninsts);
    json_key(json, "peaks");
    json_open(json, '[');
    if (usage->now) put_peak(page, &(PagePeak){"now", usage->now, NULL});
    if (usage->before) {
        Arena scratch;
        arena_init(&scratch);
        const uint32_t *moved = find_moved(item, &scratch);
        put_peak(page, &(PagePeak){"before spilling", usage->before, moved});
        arena_free(&scratch);
    }
    json_close(json, ']');
}

/* ---- one function ---- */

static void put_report(PageOut *page) {
    const Report *report = page->item->report;
    JsonOut *json = &page->json;
    if (!report) return;
    json_key(json, "report");
    json_open(json, '{');
    json_report(json, page->item->func->name, report, false);
    json_close(json, '}');
}

static void put_function(PageOut *page, uint32_t index) {
    Arena arena;
    arena_init(&arena);
    Usage usage = find_usage(page->drawing, index, &arena);
    page->item = &page->drawing->funcs[index];
    page->usage = &usage;
    JsonOut *json = &page->json;
    json_open(json, '{');
    key_str(json, "name", page->item->func->name);
    key_str(json, "side", str_from(page->side ? page->side : ""));
    key_str(json, "target", page->drawing->target->name);
    key_int(json, "usable", target_usable(page->drawing->target));
    put_report(page);
    json_key(json, "tensors");
    json_open(json, '[');
    for (uint32_t t = 0; t < page->item->func->ntensors; t++)
        put_tensor(page, t);
    json_close(json, ']');
    put_code(page);
    put_usage(page);
    json_close(json, '}');
    page->usage = NULL;
    arena_free(&arena);
}

static void begin_data(PageOut *page, const Source *source, Writer *out) {
    writer_to_memory(&page->text);
    json_begin(&page->json, out, true);
    page->json.in_html = true;
    json_open(&page->json, '{');
    key_str(&page->json, "file", source->name);
    json_key(&page->json, "functions");
    json_open(&page->json, '[');
}

static void end_data(PageOut *page) {
    json_close(&page->json, ']');
    json_close(&page->json, '}');
    writer_free(&page->text);
}

static void write_data(const Drawing *drawing, Writer *out) {
    PageOut page = {.drawing = drawing};
    begin_data(&page, drawing->source, out);
    for (uint32_t i = 0; i < drawing->count; i++)
        put_function(&page, i);
    end_data(&page);
}

static void write_data_of_both(const Drawing drawings[SIDES], const Changes *changes, Writer *out) {
    static const char *const NAMES[] = {", before", ", after"};
    PageOut page = {0};
    begin_data(&page, drawings[SIDE_NEW].source, out);
    for (size_t i = 0; i < changes->nfuncs; i++)
        for (int side = 0; side < SIDES; side++) {
            const Func *func = changes->funcs[i].funcs[side];
            page.drawing = &drawings[side];
            page.side = NAMES[side];
            if (func) put_function(&page, (uint32_t)(func - page.drawing->funcs[0].func));
        }
    end_data(&page);
}

/* ---- the page ---- */

static void write_file(Writer *out, const unsigned char *text, size_t length) {
    write_str(out, (Str){(const char *)text, (uint32_t)length});
}

static void begin_page(const Source *source, Writer *out) {
    write_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    svg_escape(out, source->name);
    write_text(out, " \xC2\xB7 sballoc</title>\n<style>\n");
    write_file(out, PAGE_CSS, sizeof PAGE_CSS);
    write_text(out, "</style>\n</head>\n<body>\n<script type=\"application/json\" id=\"data\">");
}

static void end_page(Writer *out) {
    write_text(out, "</script>\n<script>\n\"use strict\";\n(() => {\n");
    write_file(out, PAGE_JS, sizeof PAGE_JS);
    write_text(out, "})();\n</script>\n</body>\n</html>\n");
}

void write_html(const Drawing *drawing, Writer *out) {
    begin_page(drawing->source, out);
    write_data(drawing, out);
    end_page(out);
}

void write_html_changes(const Drawing drawings[SIDES], const Changes *changes, Writer *out) {
    begin_page(drawings[SIDE_NEW].source, out);
    write_data_of_both(drawings, changes, out);
    end_page(out);
}
