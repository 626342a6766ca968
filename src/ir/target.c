#include "ir/target.h"

#include "support/checked.h"

/* Sizes and reserved sizes are the published geometry of each generation; dma_rate of inf1 and trn3
 * is their neighbour's. */
static const Target BUILTIN[] = {
    {{"inf1", 4}, 98304, 16384, 64, 1300, 17},
    {{"trn1", 4}, 196608, 16384, 64, 1300, 17},
    {{"trn2", 4}, 229376, 16392, 64, 1300, 23},
    {{"trn3", 4}, 262144, 16392, 64, 1300, 23},
};
enum { ROW_GROUP = 16 /* partitions that a DMA moves at once */ };
enum { BUILTIN_COUNT = sizeof BUILTIN / sizeof *BUILTIN };

static const Str NAMES[] = {
    {"inf1", 4}, {"tonga", 5},    {"inferentia", 10}, {"trn1", 4},   {"sunda", 5},
    {"inf2", 4}, {"trainium", 8}, {"trn2", 4},        {"cayman", 6}, {"gen3", 4},
    {"trn3", 4}, {"core_v4", 7},  {"mariana", 7},
};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };
static const uint8_t NAMED_TARGET[NAME_COUNT] = {0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3};

const Target *target_builtin(Str name) {
    for (uint32_t i = 0; i < NAME_COUNT; i++)
        if (str_equal(name, NAMES[i])) return &BUILTIN[NAMED_TARGET[i]];
    return NULL;
}

const Str *target_names(uint32_t *count) {
    *count = NAME_COUNT;
    return NAMES;
}

bool target_same(const Target *a, const Target *b) {
    return a->sb_bytes == b->sb_bytes && a->sb_reserved == b->sb_reserved &&
           a->sb_init == b->sb_init && a->dma_init == b->dma_init && a->dma_rate == b->dma_rate;
}

bool target_is_builtin(const Target *target) {
    for (uint32_t i = 0; i < BUILTIN_COUNT; i++) {
        const Target *builtin = &BUILTIN[i];
        if (str_equal(target->name, builtin->name)) return target_same(target, builtin);
    }
    return false;
}

int64_t target_usable(const Target *target) {
    return target->sb_bytes - target->sb_reserved;
}

uint32_t target_granules(const Target *target) {
    return (uint32_t)(target_usable(target) / GRANULE);
}

uint32_t target_touched(const Target *target) {
    return (uint32_t)ceil_div(target_usable(target), GRANULE);
}

int64_t latency_dram(const Target *target, int64_t partitions, int64_t bytes) {
    int64_t moved = saturating_mul(ceil_div(partitions, ROW_GROUP), bytes);
    return saturating_add(target->dma_init, ceil_div(moved, target->dma_rate));
}

int64_t latency_sb(const Target *target, int64_t bytes) {
    return saturating_add(target->sb_init, ceil_div(bytes, GRANULE));
}
