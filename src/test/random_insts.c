#include "test/random_gen.h"

#include <string.h>

void gen_add_operand(Gen *gen, Draft *draft, uint32_t tensor, const Blocks *blocks) {
    Operand operand = {.tensor = tensor, .blocks = blocks};
    if (gen_percent(gen, 7)) operand.region = gen_region(gen, &gen->forms[gen->known[tensor].form]);
    draft->operands[draft->count++] = operand;
}

void gen_emit(Gen *gen, const char *op, const Draft *draft, uint32_t ndst, bool accumulate,
              const Condition *condition) {
    Operand *operands = RAW_ARRAY(gen_arena(gen), Operand, draft->count);
    memcpy(operands, draft->operands, draft->count * sizeof *operands);
    Inst inst = {.op = str_from(op),
                 .accumulate = accumulate,
                 .ndst = ndst,
                 .nsrc = draft->count - ndst,
                 .operands = operands,
                 .condition = condition};
    inst.kind = op_kind(inst.op);
    if (gen_percent(gen, 12)) inst.meta = gen_meta(gen);
    build_inst(&gen->builder, inst);
    for (uint32_t i = ndst; i < draft->count; i++)
        gen->known[operands[i].tensor].unread = false;
    for (uint32_t i = 0; i < ndst; i++) {
        Known *known = &gen->known[operands[i].tensor];
        known->written = known->unread = true;
        if (!condition && !operands[i].blocks && !operands[i].region) known->filled = true;
    }
    if (gen->budget > 0) gen->budget--;
}

/* A tensor that satisfies the space and was written, UINT32_MAX if there is none. */
static uint32_t gen_source(Gen *gen, uint32_t spaces) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        const Known *known = &gen->known[t];
        if (!(spaces >> gen_tensor(gen, t)->space & 1) || !known->written || known->dead) continue;
        uint32_t weight = (known->filled ? 4 : 1) * (known->unread ? 2 : 1);
        seen += weight;
        if (chance_below(&gen->chance, seen) < weight) found = t;
    }
    return found;
}

uint32_t gen_any_tensor(Gen *gen, uint32_t spaces) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        if (!(spaces >> gen_tensor(gen, t)->space & 1)) continue;
        uint32_t weight = !gen->known[t].written ? 8 : gen->known[t].unread ? 1 : 3;
        seen += weight;
        if (chance_below(&gen->chance, seen) < weight) found = t;
    }
    return found;
}

uint32_t gen_partner(Gen *gen, uint32_t tensor, Space space, bool written) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        const Known *known = &gen->known[t];
        if (t == tensor || gen_tensor(gen, t)->space != space) continue;
        if (known->form != gen->known[tensor].form || (written && (!known->written || known->dead)))
            continue;
        uint32_t weight = written ? 1 : !known->written ? 8 : known->unread ? 1 : 3;
        seen += weight;
        if (chance_below(&gen->chance, seen) < weight) found = t;
    }
    return found;
}

const char *gen_op(Gen *gen) {
    static const char *const OPS[] = {"matmul", "activation", "tensor_tensor", "reduce.max",
                                      "iota",   "memset",     "transpose$x",   "if_"};
    return OPS[gen_between(gen, 0, 7)];
}

static void add_destination(Gen *gen, Draft *draft) {
    uint32_t spaces = gen_percent(gen, 75) ? IN_SB : IN_SB | IN_DRAM | IN_PSUM;
    uint32_t tensor = gen_any_tensor(gen, spaces);
    bool whole = !gen->known[tensor].filled && gen_percent(gen, 60);
    const Blocks *blocks = whole ? NULL : gen_some_blocks(gen, draft, tensor);
    gen_add_operand(gen, draft, tensor, blocks);
    if (whole) draft->operands[draft->count - 1].region = NULL;
}

static void add_source(Gen *gen, Draft *draft) {
    uint32_t tensor = gen_source(gen, gen_percent(gen, 85) ? IN_SB : IN_SB | IN_DRAM | IN_PSUM);
    if (draft->count > 0 && gen_percent(gen, 8)) {
        uint32_t same = draft->operands[gen_between(gen, 0, draft->count - 1)].tensor;
        if (gen->known[same].written && !gen->known[same].dead) tensor = same;
    }
    if (tensor != UINT32_MAX)
        gen_add_operand(gen, draft, tensor, gen_some_blocks(gen, draft, tensor));
}

void gen_plain(Gen *gen) {
    Draft draft = {.count = 0};
    uint32_t ndst = gen_percent(gen, 75) ? 1 : (uint32_t)gen_between(gen, 0, 3);
    for (uint32_t i = 0; i < ndst; i++)
        add_destination(gen, &draft);
    uint32_t nsrc = (uint32_t)gen_between(gen, 0, gen_percent(gen, 80) ? 2 : 4);
    for (uint32_t i = 0; i < nsrc; i++)
        add_source(gen, &draft);
    gen_emit(gen, gen_op(gen), &draft, ndst, false, gen_condition(gen, &draft));
}

void gen_accumulate(Gen *gen) {
    Draft draft = {.count = 0};
    uint32_t tensor = gen_source(gen, gen_percent(gen, 90) ? IN_SB : IN_SB | IN_DRAM | IN_PSUM);
    if (tensor == UINT32_MAX) {
        gen_plain(gen);
        return;
    }
    gen_add_operand(gen, &draft, tensor, gen_some_blocks(gen, &draft, tensor));
    uint32_t nsrc = (uint32_t)gen_between(gen, 0, 2);
    for (uint32_t i = 0; i < nsrc; i++)
        add_source(gen, &draft);
    gen_emit(gen, gen_op(gen), &draft, 1, true, gen_condition(gen, &draft));
}

/* Blocks of both ends of a transfer: all of both where they have the same number, else one each. */
static void transfer_operands(Gen *gen, Draft *draft, uint32_t to, uint32_t from) {
    bool alike = gen_tensor(gen, to)->blocks == gen_tensor(gen, from)->blocks;
    const Region *region = NULL;
    if (gen_percent(gen, 10)) region = gen_region(gen, &gen->forms[gen->known[to].form]);
    const uint32_t ends[2] = {to, from};
    bool all = alike && gen_percent(gen, gen->known[to].filled ? 50 : 80);
    for (int i = 0; i < 2; i++) {
        int64_t blocks = gen_tensor(gen, ends[i])->blocks;
        const Blocks *one = NULL;
        Affine index;
        if (!all && (blocks > 1 || gen_percent(gen, 5))) {
            bool dynamic = gen->code == CODE_ANY && gen->depth > 0 && gen_percent(gen, 60) &&
                           gen_index(gen, draft, blocks, 1, &index);
            if (!dynamic) index = gen_constant(gen, gen_between(gen, 0, blocks - 1));
            one = gen_blocks(gen, BLOCKS_ONE, index, (Affine){0});
        }
        draft->operands[draft->count++] =
            (Operand){.tensor = ends[i], .blocks = one, .region = region};
    }
}

static void transfer(Gen *gen, const char *op, uint32_t to, uint32_t from) {
    Draft draft = {.count = 0};
    transfer_operands(gen, &draft, to, from);
    if (op_kind(str_from(op)) == OP_LOAD) gen->known[from].loaded = true;
    gen_emit(gen, op, &draft, 1, false, gen_condition(gen, &draft));
}

void gen_load(Gen *gen) {
    uint32_t to = gen_any_tensor(gen, IN_SB);
    uint32_t from = gen_partner(gen, to, SPACE_DRAM, true);
    if (from == UINT32_MAX)
        gen_plain(gen);
    else
        transfer(gen, "load", to, from);
}

void gen_save(Gen *gen) {
    uint32_t from = gen_source(gen, IN_SB);
    uint32_t to = from == UINT32_MAX ? from : gen_partner(gen, from, SPACE_DRAM, false);
    if (to == UINT32_MAX)
        gen_load(gen);
    else
        transfer(gen, "save", to, from);
}

void gen_save_over(Gen *gen) {
    uint32_t from = gen_source(gen, IN_SB);
    uint32_t home = from == UINT32_MAX ? from : gen_partner(gen, from, SPACE_DRAM, true);
    if (home == UINT32_MAX) {
        gen_load(gen);
        return;
    }
    uint32_t to = gen_partner(gen, home, SPACE_SB, false);
    transfer(gen, "load", to, home);
    if (gen_percent(gen, 30)) gen_plain(gen);
    transfer(gen, "save", home, from);
    if (gen_percent(gen, 30)) gen_plain(gen);
    Draft draft = {.count = 0};
    gen_add_operand(gen, &draft, to, gen_some_blocks(gen, &draft, to));
    gen_emit(gen, "use", &draft, 0, false, gen_condition(gen, &draft));
}

void gen_copies(Gen *gen) {
    uint32_t from = gen_source(gen, IN_SB);
    if (from == UINT32_MAX) {
        gen_load(gen);
        return;
    }
    uint32_t links = gen_percent(gen, 65) ? 1 : (uint32_t)gen_between(gen, 2, 3);
    while (links-- > 0) {
        uint32_t to = gen_partner(gen, from, SPACE_SB, false);
        if (to == UINT32_MAX) {
            gen_plain(gen);
            return;
        }
        transfer(gen, "copy", to, from);
        from = to;
    }
}

void gen_dead(Gen *gen) {
    if (gen->builder.func.ntensors + 8 > MOST_TENSORS) return;
    uint32_t tensor = gen_add_sb(gen, (uint32_t)gen_between(gen, 0, gen->nforms - 1), "d");
    gen_tensor(gen, tensor)->output = false;
    gen->known[tensor].dead = true;
    uint32_t from = gen_partner(gen, tensor, SPACE_DRAM, true);
    if (from != UINT32_MAX && gen_percent(gen, 75)) {
        transfer(gen, "load", tensor, from);
        return;
    }
    Draft draft = {.count = 0};
    gen_add_operand(gen, &draft, tensor, gen_some_blocks(gen, &draft, tensor));
    gen_emit(gen, gen_op(gen), &draft, 1, false, gen_condition(gen, &draft));
}
