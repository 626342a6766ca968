#include "spill/legalize.h"

/* The next free name of the form NAME_SUFFIXn. */
static Str next_name(const StrMap *taken, Str name, const char *suffix, uint32_t *serial,
                     Arena *arena) {
    Str candidate;
    do {
        candidate = str_format(arena, "%.*s_%s%u", (int)name.length, name.text, suffix, ++*serial);
    } while (strmap_get(taken, candidate) != UINT32_MAX);
    return candidate;
}

static bool made_any(const Rewritten *rewritten) {
    for (uint32_t t = 0; t < rewritten->func->ntensors; t++)
        if (rewritten->role[t] != ROLE_KEPT) return true;
    return false;
}

void legalize(Rewritten *rewritten, const Str *names, Arena *arena) {
    Func *func = rewritten->func;
    if (!made_any(rewritten)) return;
    Arena scratch;
    arena_init(&scratch);
    StrMap taken;
    strmap_init(&taken, &scratch);
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (rewritten->role[t] == ROLE_KEPT) strmap_add(&taken, func->tensors[t].name, t);
    for (uint32_t t = 0; t < func->ntensors; t++)
        strmap_add(&taken, names[rewritten->origin[t]], t);
    uint32_t saves = 0, reloads = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (rewritten->role[t] == ROLE_KEPT) continue;
        Tensor *tensor = &func->tensors[t];
        Str name = names[rewritten->origin[t]];
        bool home = rewritten->role[t] == ROLE_HOME;
        tensor->name = home ? next_name(&taken, name, "SpillSave", &saves, arena)
                            : next_name(&taken, name, "ReloadStore", &reloads, arena);
        Meta *of = NEW(arena, Meta);
        *of = (Meta){.key = STR("of"), .kind = META_TEXT, .text = name};
        tensor->meta = (MetaList){of, 1};
    }
    arena_free(&scratch);
}
