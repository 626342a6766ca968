#include "test/random.h"

#include "test/random_gen.h"
#include "test/repair.h"
#include "test/room.h"

/* ---- statements ---- */

typedef void Maker(Gen *gen);

/* Kinds of statement and how often each comes; `loops`: only where loops are wanted. */
static const struct {
    Maker *make;
    uint32_t weight;
    RandomCode least; /* the simplest code that may have it: any, block loops or straight */
} MAKERS[] = {
    {gen_plain, 30, CODE_STRAIGHT},     {gen_load, 16, CODE_STRAIGHT},
    {gen_save, 8, CODE_STRAIGHT},       {gen_copies, 8, CODE_STRAIGHT},
    {gen_accumulate, 9, CODE_STRAIGHT}, {gen_save_over, 5, CODE_STRAIGHT},
    {gen_dead, 3, CODE_STRAIGHT},       {gen_block_loop, 8, CODE_BLOCK_LOOPS},
    {gen_any_loop, 18, CODE_ANY},       {gen_empty_loop, 2, CODE_ANY},
};
enum { MAKER_COUNT = sizeof MAKERS / sizeof *MAKERS };

static bool allowed(RandomCode code, RandomCode least) {
    return code == CODE_ANY || least == CODE_STRAIGHT || code == least;
}

static void statement(Gen *gen) {
    uint32_t sum = 0, choice = 0;
    for (uint32_t i = 0; i < MAKER_COUNT; i++) {
        if (!allowed(gen->code, MAKERS[i].least)) continue;
        sum += MAKERS[i].weight;
        if (chance_below(&gen->chance, sum) < MAKERS[i].weight) choice = i;
    }
    MAKERS[choice].make(gen);
}

void gen_statements(Gen *gen, uint32_t count) {
    for (uint32_t i = 0; i < count && gen->budget > 0; i++)
        statement(gen);
}

/* Fills many tensors one after another, all of which are live then. */
static void fill_first(Gen *gen) {
    for (uint32_t t = 0; t < gen->builder.func.ntensors && gen->budget > 2; t++) {
        if (gen_tensor(gen, t)->space != SPACE_SB || gen->known[t].filled || gen_percent(gen, 30))
            continue;
        gen_fill_tile(gen, t, NULL);
    }
}

/* Reads some of what was written and not read yet, so that values live on to the end. */
static void read_rest(Gen *gen) {
    Draft draft = {.count = 0};
    for (uint32_t t = 0; t < gen->builder.func.ntensors && draft.count < MOST_OPERANDS; t++) {
        const Known *known = &gen->known[t];
        if (gen_tensor(gen, t)->space != SPACE_SB || !known->unread || known->dead) continue;
        if (gen_percent(gen, 65)) gen_add_operand(gen, &draft, t, gen_some_blocks(gen, &draft, t));
        if (draft.count < 2) continue;
        gen_emit(gen, "use", &draft, 0, false, NULL);
        draft.count = 0;
    }
    if (draft.count > 0) gen_emit(gen, "use", &draft, 0, false, NULL);
}

static uint32_t random_budget(Gen *gen, RandomSize size) {
    if (size == SIZE_ANY) size = (RandomSize)gen_between(gen, SIZE_SMALL, SIZE_LARGE);
    if (size == SIZE_SMALL) return (uint32_t)gen_between(gen, 3, 12);
    return (uint32_t)(size == SIZE_MEDIUM ? gen_between(gen, 10, 25) : gen_between(gen, 25, 40));
}

static RandomRoom choose_room(Gen *gen, RandomRoom room) {
    if (room != ROOM_ANY) return room;
    uint64_t roll = chance_below(&gen->chance, 100);
    return roll < 22   ? ROOM_AMPLE
           : roll < 45 ? ROOM_TIGHT
           : roll < 96 ? ROOM_SPILLING
                       : ROOM_IMPOSSIBLE;
}

Module *random_module(Arena *arena, uint64_t seed, RandomShape shape) {
    Gen gen = {.chance = {seed}, .code = shape.code, .trips = 1};
    MetaList meta = {0};
    build_begin(&gen.builder, arena, STR("random"), meta, (Span){0, 0});
    if (gen_percent(&gen, 15)) gen.builder.func.meta = gen_meta(&gen);
    gen.budget = random_budget(&gen, shape.size);
    gen_declare(&gen, (uint32_t)gen_between(&gen, 2, 6 + 2 * gen.budget / 3));
    if (gen_percent(&gen, 45)) fill_first(&gen);
    while (gen.budget > 0)
        gen_statements(&gen, 1);
    read_rest(&gen);
    Func *func = build_finish(&gen.builder);
    repair_reads(func, arena);
    Module *module = NEW(arena, Module);
    *module = (Module){.funcs = func, .nfuncs = 1, .has_target = true};
    place_fixed(func, &gen.chance, arena);
    module->target = random_target(func, choose_room(&gen, shape.room), &gen.chance, arena);
    return module;
}
