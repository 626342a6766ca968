#include "spill/split_copies.h"

#include <string.h>

#include "analysis/split.h"

/* [count] items[of[i]]. */
static void *spread(const void *items, size_t size, const uint32_t *of, uint32_t count,
                    Arena *arena) {
    char *result = arena_raw(arena, count, size);
    for (uint32_t i = 0; i < count; i++)
        memcpy(result + i * size, (const char *)items + of[i] * size, size);
    return result;
}

const uint32_t *split_copies(Rewritten *rewritten, Arena *arena) {
    Split split = split_webs(rewritten->func, NULL, arena);
    if (!split.added) return NULL;
    uint32_t count = split.func->ntensors, before = count - split.added;
    *rewritten->func = *split.func;
    rewritten->origin = spread(rewritten->origin, sizeof(uint32_t), split.parent, count, arena);
    rewritten->role = spread(rewritten->role, 1, split.parent, count, arena);
    rewritten->first_access =
        spread(rewritten->first_access, sizeof(uint32_t), split.parent, count, arena);
    rewritten->end_access =
        spread(rewritten->end_access, sizeof(uint32_t), split.parent, count, arena);
    if (rewritten->block_range)
        rewritten->block_range = spread(rewritten->block_range, sizeof *rewritten->block_range,
                                        split.parent, count, arena);
    for (uint32_t t = before; t < count; t++)
        if (rewritten->role[t] == ROLE_KEPT) rewritten->role[t] = ROLE_PART;
    rewritten->live = NULL;
    return split.parent;
}
