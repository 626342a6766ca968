#include "output/certificate.h"

#include "output/json_write.h"

static void write_numbers(JsonOut *json, const char *key, int64_t *const *numbers,
                          const RowProblem *problem, uint32_t row) {
    json_key(json, key);
    json_open(json, '[');
    for (uint32_t lane = 0; lane < problem->lanes; lane++)
        json_int(json, numbers[lane][row]);
    json_close(json, ']');
}

static bool has_price(const Bound *bound, uint32_t row) {
    for (uint32_t lane = 0; lane < bound->problem.lanes; lane++)
        if (bound->prices.price[lane][row] > 0) return true;
    return false;
}

static void write_rows(JsonOut *json, const Bound *bound) {
    const RowProblem *problem = &bound->problem;
    json_key(json, "rows");
    json_open(json, '[');
    for (uint32_t r = 0; r < problem->nrows; r++) {
        if (!has_price(bound, r)) continue;
        json_open(json, '{');
        json_key(json, "point");
        json_int(json, problem->point[r]);
        write_numbers(json, "divisors", problem->divisor, problem, r);
        write_numbers(json, "prices", bound->prices.price, problem, r);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_certified(JsonOut *json, const Certified *item) {
    json_open(json, '{');
    json_key(json, "name");
    json_str(json, item->name);
    json_key(json, "bound_cycles");
    if (item->report->bounded)
        json_int(json, item->report->bound_cycles);
    else
        json_null(json);
    json_key(json, "bits");
    json_int(json, item->bound->prices.bits);
    write_rows(json, item->bound);
    json_close(json, '}');
}

void write_certificate(const Certified *items, uint32_t count, Writer *out) {
    JsonOut json;
    json_begin(&json, out, true);
    json_open(&json, '{');
    json_key(&json, "format");
    json_text(&json, "sballoc certificate");
    json_key(&json, "version");
    json_int(&json, 1);
    json_key(&json, "functions");
    json_open(&json, '[');
    for (uint32_t i = 0; i < count; i++)
        write_certified(&json, &items[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    write_char(out, '\n');
}
