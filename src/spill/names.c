#include "spill/names.h"

#include "ir/names.h"

typedef struct {
    const Rewritten *rewritten;
    const Str *names; /* [nnames] */
    uint32_t nnames;
    Arena *arena;    /* of the names */
    Arena scratch;   /* of this pass */
    StrMap taken;    /* names that nobody else may have */
    uint32_t *order; /* [count] the added tensors as they appear */
    uint32_t count;
} Names;

static bool is_added(const Rewritten *rewritten, uint32_t t) {
    return rewritten->role[t] != ROLE_KEPT;
}

static void note_order(Names *pass, uint32_t t, bool *seen) {
    if (seen[t] || !is_added(pass->rewritten, t)) return;
    seen[t] = true;
    pass->order[pass->count++] = t;
}

/* Added tensors by their first operand; those without any come last. */
static void find_order(Names *pass) {
    const Func *func = pass->rewritten->func;
    bool *seen = NEW_ARRAY(&pass->scratch, bool, func->ntensors);
    pass->order = RAW_ARRAY(&pass->scratch, uint32_t, func->ntensors);
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (uint32_t o = 0; o < func->insts[p].ndst + func->insts[p].nsrc; o++)
            note_order(pass, func->insts[p].operands[o].tensor, seen);
    for (uint32_t t = 0; t < func->ntensors; t++)
        note_order(pass, t, seen);
}

/* All names of the input, also of what is spilled or left out: the result is compared with it. */
static void take_names(Names *pass) {
    const Rewritten *rewritten = pass->rewritten;
    strmap_init(&pass->taken, &pass->scratch);
    for (uint32_t t = 0; t < rewritten->func->ntensors; t++)
        if (!is_added(rewritten, t))
            strmap_add(&pass->taken, rewritten->func->tensors[t].name, UINT32_MAX - 1);
    for (uint32_t t = 0; t < pass->nnames; t++)
        strmap_add(&pass->taken, pass->names[t], UINT32_MAX - 1);
}

static void name_as(Names *pass, uint32_t t, Str name) {
    Tensor *tensor = &pass->rewritten->func->tensors[t];
    Meta *of = NEW(pass->arena, Meta);
    *of = (Meta){
        .key = STR("of"), .kind = META_TEXT, .text = pass->names[pass->rewritten->origin[t]]};
    tensor->name = name;
    tensor->meta = (MetaList){of, 1};
}

/* Gives those that want a name that name. Returns which have one now. */
static bool *grant(Names *pass, const Str *wanted) {
    bool *named = NEW_ARRAY(&pass->scratch, bool, pass->rewritten->func->ntensors);
    for (uint32_t i = 0; wanted && i < pass->count; i++) {
        uint32_t t = pass->order[i];
        if (wanted[t].length == 0 || strmap_add(&pass->taken, wanted[t], t) != t) continue;
        name_as(pass, t, wanted[t]);
        named[t] = true;
    }
    return named;
}

static void number(Names *pass, const bool *named) {
    static const char *const MARKS[] = {
        [ROLE_HOME] = HOME_MARK, [ROLE_COPY] = COPY_MARK, [ROLE_PART] = PART_MARK};
    const Rewritten *rewritten = pass->rewritten;
    StrMap serial_of;
    strmap_init(&serial_of, &pass->scratch);
    uint32_t(*serials)[ROLE_COUNT] =
        arena_alloc(&pass->scratch, rewritten->func->ntensors, sizeof *serials);
    for (uint32_t i = 0; i < pass->count; i++) {
        uint32_t t = pass->order[i];
        if (named[t]) continue;
        Str name = pass->names[rewritten->origin[t]];
        Role role = rewritten->role[t];
        uint32_t tensor = strmap_add(&serial_of, name, serial_of.count);
        name_as(pass, t,
                derived_name(&pass->taken, name, MARKS[role], &serials[tensor][role], pass->arena));
    }
}

void name_added(Rewritten *rewritten, const Str *names, uint32_t count, const Str *wanted,
                Arena *arena) {
    if (!added_any(rewritten)) return;
    Names pass = {.rewritten = rewritten, .names = names, .nnames = count, .arena = arena};
    arena_init(&pass.scratch);
    take_names(&pass);
    find_order(&pass);
    number(&pass, grant(&pass, wanted));
    arena_free(&pass.scratch);
}
