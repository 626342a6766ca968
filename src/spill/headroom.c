#include "spill/headroom.h"

#include <assert.h>

#include "spill/chaitin.h"
#include "spill/residency/residency.h"

enum { PATIENT_ROUNDS = 6 };

Headroom headroom_make(uint32_t ninsts, Arena *arena) {
    return (Headroom){.granules = NEW_ARRAY(arena, uint32_t, ninsts),
                      .stamp = NEW_ARRAY(arena, uint32_t, ninsts)};
}

/* The instruction of the input at a point of the spill code, or the next one after it. */
static uint32_t input_point(const Rewritten *code, uint32_t point) {
    while (point + 1 < code->func->ninsts && code->origin_inst[point] == INSERTED)
        point++;
    return code->origin_inst[point];
}

void headroom_overload(State *state) {
    Headroom *headroom = &state->headroom;
    const Rewritten *code = &state->code;
    const uint32_t *need = state->now.pressure.need, size = state->facts->size;
    assert(state->now.func == code->func);
    headroom->overloads++;
    for (uint32_t p = 0; p < code->func->ninsts; p++) {
        if (need[p] <= size) continue;
        uint32_t point = input_point(code, p);
        if (point == INSERTED || headroom->stamp[point] == headroom->overloads) continue;
        headroom->stamp[point] = headroom->overloads;
        headroom->granules[point] += need[p] - size;
    }
}

/* Granules of headroom after a number of failures, not 0: fragmentation takes more than one
 * expects. */
static uint32_t amount_after(uint32_t size, uint32_t failures) {
    static const uint32_t percent[] = {3, 6, 10, 15, 21, 30, 40};
    enum { COUNT = sizeof percent / sizeof *percent };
    assert(failures > 0);
    return (uint32_t)((uint64_t)size * percent[(failures < COUNT ? failures : COUNT) - 1] / 100) +
           1;
}

static uint32_t peak_along(const Node *node, const Pressure *pressure) {
    uint32_t peak = 0;
    for (uint32_t i = 0; i < node->range.count; i++)
        for (uint32_t p = node->range.items[i].first; p <= node->range.items[i].last; p++)
            if (pressure->need[p] > peak) peak = pressure->need[p];
    return peak;
}

/* Raises the headroom along a node to `amount`. */
static void raise_along(State *state, const Node *node, uint32_t amount) {
    uint32_t *granules = state->headroom.granules;
    for (uint32_t i = 0; i < node->range.count; i++)
        for (uint32_t p = node->range.items[i].first; p <= node->range.items[i].last; p++) {
            uint32_t point = state->code.origin_inst[p];
            if (point != INSERTED && granules[point] < amount) granules[point] = amount;
        }
}

/* Leaves headroom along each node that the round left out, more with each failure. O(points of
 * those nodes). */
static void raise_along_failed(State *state) {
    Headroom *headroom = &state->headroom;
    const Round *round = &state->now;
    uint32_t size = state->facts->size, amount = amount_after(size, ++headroom->failures);
    for (uint32_t i = 0; i < round->placement.nfailed; i++) {
        const Node *node = &round->nodes.items[round->placement.failed[i]];
        uint32_t peak = peak_along(node, &round->pressure);
        /* While no point is over capacity, headroom counts from what was needed. */
        uint32_t slack = !headroom->spilling && size > peak ? size - peak : 0;
        raise_along(state, node, slack + amount);
    }
    headroom->spilling = true;
}

/* True once residency() cuts something else than it did before. */
static bool decide_otherwise(State *state) {
    PlanCuts before = plan_save(&state->plan, &state->round_memory);
    do {
        raise_along_failed(state);
        residency(state);
        if (!plan_is_saved(&state->plan, &before)) return true;
    } while (state->headroom.failures < PATIENT_ROUNDS);
    return false;
}

bool spill_by_headroom(State *state) {
    assert(!state->now.placed);
    if (state->now.pressure.peak > state->facts->size) headroom_overload(state);
    if (state->rounds < PATIENT_ROUNDS && decide_otherwise(state)) return true;
    return spill_failed(&state->plan, &state->code, &state->now);
}
