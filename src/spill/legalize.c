#include "spill/legalize.h"

#include "ir/names.h"

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
        tensor->name = home ? derived_name(&taken, name, HOME_MARK, &saves, arena)
                            : derived_name(&taken, name, COPY_MARK, &reloads, arena);
        Meta *of = NEW(arena, Meta);
        *of = (Meta){.key = STR("of"), .kind = META_TEXT, .text = name};
        tensor->meta = (MetaList){of, 1};
    }
    arena_free(&scratch);
}
