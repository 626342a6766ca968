#include "output/stats.h"

#include "driver/peak_room.h"

static void json_number(JsonOut *json, const char *key, int64_t number) {
    json_key(json, key);
    json_int(json, number);
}

/* ---- the peaks ---- */

/* `lines`: what differs with the form of the input is told too. */
static void json_moment(JsonOut *json, const char *key, const Func *func, Moment moment,
                        bool lines) {
    json_key(json, key);
    if (moment.point == UINT32_MAX) {
        json_null(json);
        return;
    }
    json_open(json, '{');
    json_number(json, "point", moment.point);
    if (lines && moment.line > 0) json_number(json, "line", moment.line);
    json_key(json, "op");
    json_str(json, func->insts[moment.point].op);
    json_key(json, "iteration");
    json_open(json, '{');
    uint32_t loop = NO_LOOP;
    while (moment.indices && (loop = loop_inward(func, moment.point, loop)) != NO_LOOP) {
        json_str_key(json, func->loops[loop].name);
        json_int(json, moment.indices[func->loops[loop].depth]);
    }
    json_close(json, '}');
    json_close(json, '}');
}

static void json_peak_tensor(JsonOut *json, const Func *func, const PeakTensor *one, bool lines) {
    json_open(json, '{');
    json_key(json, "tensor");
    json_str(json, func->tensors[one->tensor].name);
    json_number(json, "blocks", one->blocks);
    json_number(json, "bytes", one->bytes);
    json_number(json, "shared_bytes", one->shared);
    json_key(json, "shares");
    if (one->shared > 0)
        json_str(json, func->tensors[one->shares].name);
    else
        json_null(json);
    json_number(json, "partitions", func->tensors[one->tensor].partitions);
    json_key(json, "used");
    json_bool(json, one->used);
    json_moment(json, "first", func, one->first, lines);
    json_moment(json, "last", func, one->last, lines);
    json_moment(json, "next", func, one->next, lines);
    json_close(json, '}');
}

static void json_peak_tensors(JsonOut *json, const Peak *peak, bool lines) {
    enum { MOST = 32 };
    int64_t bytes = 0;
    json_key(json, "live");
    json_open(json, '[');
    for (uint32_t i = 0; i < peak->count; i++) {
        if (i < MOST)
            json_peak_tensor(json, peak->func, &peak->tensors[i], lines);
        else
            bytes += peak->tensors[i].bytes - peak->tensors[i].shared;
    }
    json_close(json, ']');
    json_number(json, "others", peak->count > MOST ? peak->count - MOST : 0);
    json_number(json, "other_bytes", bytes);
}

static void json_room(JsonOut *json, const Peak *peak) {
    Rect rect = peak->largest;
    json_number(json, "free_bytes", peak->free);
    json_key(json, "largest_free");
    json_open(json, '{');
    json_number(json, "partition", rect.mask ? band_start(rect.mask) : 0);
    json_number(json, "partitions", rect_partitions(rect));
    json_number(json, "byte", (int64_t)rect.low * GRANULE);
    json_number(json, "bytes", (int64_t)(rect.high - rect.low) * GRANULE);
    json_close(json, '}');
    json_number(json, "fragmented_bytes", peak->fragmented);
}

static void json_peak(JsonOut *json, const char *key, const Peak *peak, bool lines) {
    json_key(json, key);
    if (!peak) {
        json_null(json);
        return;
    }
    json_open(json, '{');
    json_moment(json, "at", peak->func, peak->at, lines);
    json_number(json, "needed_bytes", peak->needed);
    json_number(json, "usable_bytes", peak->usable);
    json_number(json, "over_bytes", peak->needed > peak->usable ? peak->needed - peak->usable : 0);
    json_peak_tensors(json, peak, lines);
    if (peak->placed) json_room(json, peak);
    json_close(json, '}');
}

static void json_next_best(JsonOut *json, const SpilledTensor *one) {
    json_key(json, "here_cycles");
    if (one->priced)
        json_int(json, one->here);
    else
        json_null(json);
    json_key(json, "next_best");
    if (one->next.length == 0) {
        json_null(json);
        return;
    }
    json_open(json, '{');
    json_key(json, "tensor");
    json_str(json, one->next);
    json_number(json, "blocks", one->next_blocks);
    json_number(json, "cycles", one->next_cycles);
    json_close(json, '}');
}

static void json_spilled(JsonOut *json, const Report *report, bool lines) {
    json_key(json, "spilled");
    json_open(json, '[');
    for (uint32_t i = 0; i < report->nspilled; i++) {
        const SpilledTensor *one = &report->spilled[i];
        json_open(json, '{');
        json_key(json, "tensor");
        json_str(json, one->name);
        json_number(json, "blocks", one->blocks);
        json_number(json, "of", one->of);
        json_number(json, "saves_run", one->saves_run);
        json_number(json, "reloads_run", one->reloads_run);
        json_number(json, "cycles", one->cycles);
        json_number(json, "loads_gone_cycles", one->loads_gone);
        json_number(json, "point", one->forced.point);
        if (lines && one->forced.line > 0) json_number(json, "line", one->forced.line);
        json_key(json, "op");
        json_str(json, one->op);
        json_number(json, "needed_bytes", one->needed);
        json_next_best(json, one);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_number(json, "loads_gone_cycles", report->loads_gone);
}

static void json_peaks(JsonOut *json, const Report *report, bool lines) {
    json_key(json, "peaks");
    json_open(json, '{');
    json_peak(json, "before", report->peak_before, lines);
    json_peak(json, "after", report->peak_after, lines);
    json_close(json, '}');
}

/* ---- the figures ---- */

static void json_seconds(JsonOut *json, const Report *report) {
    const struct {
        const char *key;
        double seconds;
    } phases[] = {{"parse", report->seconds.parse},   {"analyse", report->seconds.analyse},
                  {"colour", report->seconds.colour}, {"spill", report->seconds.spill},
                  {"verify", report->seconds.verify}, {"write", report->seconds.write},
                  {"total", report->seconds.total}};
    json_key(json, "seconds");
    json_open(json, '{');
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        json_key(json, phases[i].key);
        json_fixed(json, phases[i].seconds, 6);
    }
    json_close(json, '}');
}

void json_report(JsonOut *json, Str function, const Report *report, bool seconds) {
    json_key(json, "function");
    json_str(json, function);
    json_number(json, "instructions", report->instructions);
    json_number(json, "tensors", report->tensors);
    json_number(json, "edges", (int64_t)report->edges);
    json_number(json, "max_degree", report->max_degree);
    json_number(json, "iterations", report->iterations);
    json_number(json, "spilled_tensors", report->spilled_tensors);
    json_number(json, "spilled_bytes_per_partition", report->spilled_bytes_per_partition);
    json_number(json, "saves", report->saves);
    json_number(json, "reloads", report->reloads);
    json_number(json, "saves_run", report->saves_run);
    json_number(json, "reloads_run", report->reloads_run);
    json_number(json, "reloads_removed", report->reloads_removed);
    json_number(json, "spill_cycles", report->spill_cycles);
    json_number(json, "dma_bytes", report->dma_bytes);
    json_number(json, "high_water_before", report->high_water_before);
    json_number(json, "high_water", report->high_water);
    json_number(json, "usable_bytes", report->usable_bytes);
    json_number(json, "dram_spill_bytes", report->dram_spill_bytes);
    json_key(json, "score");
    json_real(json, report->score);
    json_number(json, "coalesced", report->coalesced);
    json_number(json, "split", report->split);
    if (seconds) json_seconds(json, report);
    json_key(json, "last_resort");
    json_bool(json, report->last_resort);
    json_key(json, "strategy");
    json_text(json, report->strategy);
    json_key(json, "bound_cycles");
    if (report->bounded)
        json_int(json, report->bound_cycles);
    else
        json_null(json);
    json_key(json, "proved");
    json_bool(json, report_is_proved(report));
    json_spilled(json, report, seconds);
    json_peaks(json, report, seconds);
}

static void begin_line(JsonOut *json, Str file, Writer *out) {
    json_begin(json, out, true);
    json_open(json, '{');
    json_key(json, "file");
    json_str(json, file);
}

static void end_line(JsonOut *json) {
    json_close(json, '}');
    write_char(json->out, '\n');
}

void write_stats(Str file, Str function, const Report *report, Writer *out) {
    JsonOut json;
    begin_line(&json, file, out);
    json_report(&json, function, report, true);
    end_line(&json);
}

void write_stats_error(Str file, Str function, Str error, Writer *out) {
    JsonOut json;
    begin_line(&json, file, out);
    json_key(&json, "function");
    json_str(&json, function);
    json_key(&json, "error");
    json_str(&json, error);
    end_line(&json);
}
