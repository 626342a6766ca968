#include "spill/headroom.h"

Headroom headroom_make(uint32_t ninsts, uint32_t size, Arena *arena) {
    return (Headroom){.size = size,
                      .held = NEW_ARRAY(arena, uint32_t, ninsts),
                      .stamp = NEW_ARRAY(arena, uint32_t, ninsts)};
}

/* The instruction of the input at a point of the spill code, or the next one after it. */
static uint32_t input_point(const Rewritten *code, uint32_t point) {
    while (point + 1 < code->func->ninsts && code->origin_inst[point] == INSERTED)
        point++;
    return code->origin_inst[point];
}

void headroom_overload(Headroom *headroom, const Rewritten *code, const Round *round) {
    headroom->overloads++;
    for (uint32_t p = 0; p < code->func->ninsts; p++) {
        if (round->pressure.need[p] <= headroom->size) continue;
        uint32_t point = input_point(code, p);
        if (point == INSERTED || headroom->stamp[point] == headroom->overloads) continue;
        headroom->stamp[point] = headroom->overloads;
        headroom->held[point] += round->pressure.need[p] - headroom->size;
    }
}

/* Granules held back after so many failures: fragmentation takes more than one thinks. */
static uint32_t amount_after(const Headroom *headroom, uint32_t failures) {
    static const uint32_t percent[] = {0, 3, 6, 10, 15, 21, 30, 40};
    enum { LAST = sizeof percent / sizeof *percent - 1 };
    return (uint32_t)((uint64_t)headroom->size * percent[failures < LAST ? failures : LAST] / 100) +
           1;
}

static uint32_t peak_along(const Node *node, const Pressure *pressure) {
    uint32_t peak = 0;
    for (uint32_t i = 0; i < node->range.count; i++)
        for (uint32_t p = node->range.items[i].first; p <= node->range.items[i].last; p++)
            if (pressure->need[p] > peak) peak = pressure->need[p];
    return peak;
}

static void hold_along(Headroom *headroom, const Rewritten *code, const Node *node,
                       uint32_t amount) {
    for (uint32_t i = 0; i < node->range.count; i++)
        for (uint32_t p = node->range.items[i].first; p <= node->range.items[i].last; p++) {
            uint32_t point = code->origin_inst[p];
            if (point != INSERTED && headroom->held[point] < amount)
                headroom->held[point] = amount;
        }
}

void headroom_failed(Headroom *headroom, const Rewritten *code, const Round *round) {
    headroom->failures++;
    for (uint32_t i = 0; i < round->placement.nfailed; i++) {
        const Node *node = &round->nodes.items[round->placement.failed[i]];
        uint32_t peak = peak_along(node, &round->pressure);
        /* Nothing was over capacity: what is held back counts from what was needed. */
        uint32_t slack = !headroom->spilling && headroom->size > peak ? headroom->size - peak : 0;
        hold_along(headroom, code, node, slack + amount_after(headroom, headroom->failures));
    }
    headroom->spilling = true;
}
