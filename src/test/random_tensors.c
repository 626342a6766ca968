#include "test/random_gen.h"

#include <assert.h>
#include <string.h>

#include "support/checked.h"

static int64_t random_partitions(Gen *gen) {
    static const int64_t EDGES[] = {1, 16, 32, 33, 64, 65, 96, 128, 128};
    if (gen_percent(gen, 60)) return EDGES[gen_between(gen, 0, 8)];
    return gen_between(gen, 1, gen_percent(gen, 50) ? 48 : 128);
}

/* `even`: about 16 to 64 bytes over all partitions, so that no tensor dwarfs the others. */
static Form random_form(Gen *gen, bool even) {
    Form form = {.dtype = (Dtype)gen_between(gen, 0, DTYPE_COUNT - 1)};
    form.rank = (uint32_t)gen_between(gen, gen_percent(gen, 10) && !even ? 1 : 2, 3);
    int64_t *shape = NEW_ARRAY(gen_arena(gen), int64_t, form.rank);
    form.bytes = dtype_bytes(form.dtype);
    shape[0] = even ? gen_between(gen, 65, 128) : random_partitions(gen);
    int64_t most = gen_percent(gen, 15) ? 100 : 12, fewest = 1;
    if (even) {
        fewest = ceil_div(16, form.bytes);
        most = 48 / form.bytes;
    }
    for (uint32_t i = 1; i < form.rank; i++) {
        shape[i] = i == 1 ? gen_between(gen, fewest, most) : gen_between(gen, 1, even ? 1 : 3);
        form.bytes *= shape[i];
    }
    form.shape = shape;
    return form;
}

static Str random_name(Gen *gen, const char *stem) {
    static const char *const QUOTED[] = {"I-%u (copy)",         "a b%u", "q\"%u", "x\\%u",
                                         "\xc3\xa9t\xc3\xa9%u", "f(%u)"};
    uint32_t number = gen->builder.func.ntensors;
    if (gen_percent(gen, 3)) {
        const char *quoted = QUOTED[gen_between(gen, 0, 5)];
        const char *mark = strstr(quoted, "%u");
        return str_format(gen_arena(gen), "%.*s%u%s", (int)(mark - quoted), quoted, number,
                          mark + 2);
    }
    /* Names that spilling would like to give. */
    if (gen_percent(gen, 2)) return str_format(gen_arena(gen), "%s0_SpillSave%u", stem, number);
    if (gen_percent(gen, 2)) return str_format(gen_arena(gen), "%s1_ReloadStore%u", stem, number);
    if (gen_percent(gen, 10)) return str_format(gen_arena(gen), "%s.%u-x$", stem, number);
    return str_format(gen_arena(gen), "%s%u", stem, number);
}

MetaList gen_meta(Gen *gen) {
    static const char *const KEYS[] = {"engine", "loc", "file.name", "q$"};
    static const char *const TEXTS[] = {"pe", "attn.py", "", "a \"b\" \\ c", "line 3: x"};
    uint32_t first = (uint32_t)gen_between(gen, 0, 3), count = (uint32_t)gen_between(gen, 1, 3);
    Meta *items = NEW_ARRAY(gen_arena(gen), Meta, count);
    for (uint32_t i = 0; i < count; i++) {
        items[i].key = str_from(KEYS[(first + i) % 4]);
        items[i].kind = (MetaKind)gen_between(gen, META_FLAG, META_TEXT);
        if (items[i].kind == META_NUMBER) items[i].number = gen_between(gen, 0, 1000000);
        if (items[i].kind == META_TEXT) items[i].text = str_from(TEXTS[gen_between(gen, 0, 4)]);
    }
    return (MetaList){items, count};
}

static Tensor new_tensor(Gen *gen, Space space, uint32_t number, const char *stem) {
    const Form *form = &gen->forms[number];
    Tensor tensor = {.name = random_name(gen, stem),
                     .space = space,
                     .dtype = form->dtype,
                     .blocks =
                         gen_percent(gen, gen->several) ? gen_between(gen, 2, MOST_BLOCKS_HERE) : 1,
                     .shape = form->shape,
                     .rank = form->rank,
                     .partitions = form->shape[0],
                     .bytes = form->bytes,
                     .align = GRANULE,
                     .base = -1,
                     .offset = -1};
    if (gen_percent(gen, 10)) tensor.meta = gen_meta(gen);
    return tensor;
}

static uint32_t add_tensor(Gen *gen, Tensor tensor, uint32_t form) {
    uint32_t id = build_tensor(&gen->builder, tensor);
    assert(id < MOST_TENSORS);
    gen->known[id] = (Known){.form = form};
    gen->known[id].written = gen->known[id].filled = tensor.input || tensor.space == SPACE_PSUM;
    return id;
}

static int32_t random_start(Gen *gen, int64_t partitions) {
    if (partitions > 64) return 0;
    if (partitions > 32) return (int32_t)gen_between(gen, 0, 1) * 64;
    return (int32_t)gen_between(gen, 0, 3) * QUADRANT_PARTITIONS;
}

uint32_t gen_add_sb(Gen *gen, uint32_t form, const char *stem) {
    static const int64_t ALIGNS[] = {16, 64, 64, 256};
    Tensor tensor = new_tensor(gen, SPACE_SB, form, stem);
    tensor.input = gen_percent(gen, 6);
    tensor.output = gen_percent(gen, gen->keep);
    tensor.pin = gen_percent(gen, gen->keep);
    tensor.fixed = gen_percent(gen, gen->keep + 1);
    if (gen_percent(gen, 8)) tensor.base = random_start(gen, tensor.partitions);
    if (gen_percent(gen, 9)) tensor.align = ALIGNS[gen_between(gen, 0, 3)];
    return add_tensor(gen, tensor, form);
}

static uint32_t add_dram(Gen *gen, uint32_t form, bool input) {
    Tensor tensor = new_tensor(gen, SPACE_DRAM, form, input ? "In" : "Out");
    tensor.input = input;
    tensor.output = gen_percent(gen, input ? 15 : 60);
    if (gen_percent(gen, 8)) tensor.align = 64;
    /* Apart from each other: overlapping ones are a case of their own. */
    if (gen_percent(gen, 8)) tensor.offset = (int64_t)gen->builder.func.ntensors << 20;
    return add_tensor(gen, tensor, form);
}

void gen_declare(Gen *gen, uint32_t count) {
    static const uint32_t SEVERAL[] = {12, 40, 75}, KEEP[] = {1, 5, 11};
    gen->several = SEVERAL[gen_between(gen, 0, 2)];
    gen->keep = KEEP[gen_between(gen, 0, 2)];
    bool even = gen_percent(gen, 55);
    if (even) {
        gen->several = 12;
        gen->keep = 2;
    }
    gen->nforms = (uint32_t)gen_between(gen, 1, MOST_FORMS);
    for (uint32_t i = 0; i < gen->nforms; i++)
        gen->forms[i] = random_form(gen, even);
    for (uint32_t i = 0; i < gen->nforms; i++) {
        add_dram(gen, i, true);
        if (gen_percent(gen, 50)) add_dram(gen, i, gen_percent(gen, 25));
    }
    for (uint32_t i = 0; i < count; i++)
        gen_add_sb(gen, (uint32_t)gen_between(gen, 0, gen->nforms - 1), "t");
    if (gen_percent(gen, 65)) {
        uint32_t form = (uint32_t)gen_between(gen, 0, gen->nforms - 1);
        Tensor tensor = new_tensor(gen, SPACE_PSUM, form, "p");
        add_tensor(gen, tensor, form);
    }
}
