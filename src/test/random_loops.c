#include "test/random_gen.h"

static Str loop_name(Gen *gen) {
    static const char *const STEMS[] = {"i", "j", "k", "b.x", "o_", "t$"};
    if (gen_percent(gen, 50)) return str_format(gen_arena(gen), "%c", (char)('i' + gen->depth));
    return str_format(gen_arena(gen), "%s%u", STEMS[gen_between(gen, 0, 5)], gen->names++);
}

static bool can_open(const Gen *gen, int64_t trips) {
    return gen->depth < DEEPEST && gen->trips * trips <= MOST_TRIPS;
}

static uint32_t open_loop(Gen *gen, int64_t low, int64_t high) {
    uint32_t loop = build_loop(&gen->builder, loop_name(gen), low, high, (Span){0, 0});
    gen->open[gen->depth++] = loop;
    gen->trips *= high - low;
    return loop;
}

static void close_loop(Gen *gen) {
    const Loop *loop = &gen->builder.func.loops[gen->open[--gen->depth]];
    gen->trips /= loop->high - loop->low;
    build_end_loop(&gen->builder);
}

static int64_t random_low(Gen *gen) {
    return gen_percent(gen, 80) ? 0 : gen_between(gen, 1, 5);
}

/* `%t = ...` reached only behind a read that is skipped in the first iteration. */
static void defined_later(Gen *gen, uint32_t loop) {
    uint32_t tensor = gen_any_tensor(gen, IN_SB);
    const Loop *around = &gen->builder.func.loops[loop];
    if (gen->known[tensor].written || around->high - around->low < 2) return;
    Draft draft = {.count = 0};
    gen_add_operand(gen, &draft, tensor, NULL);
    draft.operands[0].region = NULL;
    Term index = {1, loop};
    draft.guards[draft.nguards++] =
        (Compare){gen_affine(gen, &index, 1), gen_constant(gen, around->low), CMP_GT};
    gen_emit(gen, "use", &draft, 0, false, gen_condition(gen, &draft));
    if (gen_percent(gen, 50)) gen_plain(gen);
    draft.nguards = 0;
    gen_emit(gen, gen_op(gen), &draft, 1, false, NULL);
}

void gen_any_loop(Gen *gen) {
    int64_t trips = gen_percent(gen, 10) ? 1 : gen_between(gen, 2, 4);
    if (gen->budget < 2 || !can_open(gen, trips)) {
        gen_plain(gen);
        return;
    }
    int64_t low = random_low(gen);
    uint32_t loop = open_loop(gen, low, low + trips);
    if (gen_percent(gen, 35)) defined_later(gen, loop);
    gen_statements(gen, (uint32_t)gen_between(gen, 1, 6));
    close_loop(gen);
}

void gen_empty_loop(Gen *gen) {
    if (!can_open(gen, 3)) return;
    open_loop(gen, random_low(gen), 6);
    if (can_open(gen, 2) && gen_percent(gen, 30)) {
        open_loop(gen, 0, 2);
        close_loop(gen);
    }
    close_loop(gen);
}

/* A tensor of several blocks, or UINT32_MAX. */
static uint32_t random_tiles(Gen *gen, bool written) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        const Tensor *tensor = gen_tensor(gen, t);
        if (tensor->space != SPACE_SB || tensor->blocks < 2 || gen->known[t].dead) continue;
        if (written && !gen->known[t].filled) continue;
        if (chance_below(&gen->chance, ++seen) == 0) found = t;
    }
    return found;
}

static void use_tile(Gen *gen, uint32_t tensor, const Blocks *blocks) {
    Draft draft = {.count = 0};
    uint32_t ndst = 0;
    uint32_t other = gen_any_tensor(gen, IN_SB);
    if (gen_percent(gen, 40) && gen_tensor(gen, other)->blocks == 1) {
        draft.operands[draft.count++] = (Operand){.tensor = other};
        ndst = 1;
    }
    draft.operands[draft.count++] = (Operand){.tensor = tensor, .blocks = blocks};
    gen_emit(gen, ndst ? gen_op(gen) : "use", &draft, ndst, false, NULL);
}

void gen_fill_tile(Gen *gen, uint32_t tensor, const Blocks *blocks) {
    Draft draft = {.count = 0};
    draft.operands[draft.count++] = (Operand){.tensor = tensor, .blocks = blocks};
    uint32_t from = gen_partner(gen, tensor, SPACE_DRAM, true);
    if (from != UINT32_MAX && gen_tensor(gen, from)->blocks == gen_tensor(gen, tensor)->blocks) {
        draft.operands[draft.count++] = (Operand){.tensor = from, .blocks = blocks};
        gen->known[from].loaded = true;
        gen_emit(gen, "load", &draft, 1, false, NULL);
        return;
    }
    gen_emit(gen, gen_op(gen), &draft, 1, false, NULL);
}

void gen_block_loop(Gen *gen) {
    bool fills = gen_percent(gen, 70);
    uint32_t tensor = random_tiles(gen, !fills);
    if (tensor == UINT32_MAX || !can_open(gen, gen_tensor(gen, tensor)->blocks)) {
        gen_plain(gen);
        return;
    }
    int64_t low = gen->code == CODE_ANY ? random_low(gen) : 0;
    uint32_t loop = open_loop(gen, low, low + gen_tensor(gen, tensor)->blocks);
    Term terms[2] = {{1, loop}};
    uint32_t count = low == 0 ? 1 : gen_add_offset(gen, terms, 1, -low);
    Affine index = gen_affine(gen, terms, count);
    if (gen_percent(gen, 25)) { /* from some block on, around the end */
        count = gen_add_offset(gen, terms, 1, gen_between(gen, -3, 5));
        index = gen_affine(gen, terms, count);
        index.modulus = gen_tensor(gen, tensor)->blocks;
    }
    const Blocks *blocks = gen_blocks(gen, BLOCKS_ONE, index, (Affine){0});
    if (fills) gen_fill_tile(gen, tensor, blocks);
    if (!fills || gen_percent(gen, 40)) use_tile(gen, tensor, blocks);
    close_loop(gen);
    gen->known[tensor].filled = true;
}
