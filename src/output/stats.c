#include "output/stats.h"

static void json_number(JsonOut *json, const char *key, int64_t number) {
    json_key(json, key);
    json_int(json, number);
}

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
