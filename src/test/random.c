#include "test/random.h"

#include <assert.h>
#include <string.h>

#include "ir/build.h"
#include "support/checked.h"
#include "test/chance.h"
#include "test/repair.h"
#include "test/room.h"

enum {
    MOST_TENSORS = 80,
    MOST_FORMS = 4,
    MOST_OPERANDS = 8,
    DEEPEST = 4,     /* loops around an instruction */
    MOST_TRIPS = 64, /* of all loops around an instruction together */
    MOST_BLOCKS_HERE = 8,
    MOST_COMPARES = 8
};

/* A shape that several tensors share, so that they can be loaded from and copied to each other. */
typedef struct {
    Dtype dtype;
    const int64_t *shape;
    uint32_t rank;
    int64_t bytes;
} Form;

/* What the generator knows of a tensor while it writes statements. */
typedef struct {
    uint32_t form;
    bool written; /* some write (or entry) stands before, in program order */
    bool filled;  /* all of it surely written */
    bool loaded;  /* dram: some load has read it */
    bool dead;    /* written only, never a source */
    bool unread;  /* written since it was last read: read it rather than write it again */
} Known;

typedef struct {
    Chance chance;
    RandomCode code;
    Builder builder;
    Form forms[MOST_FORMS];
    uint32_t nforms;
    Known known[MOST_TENSORS];
    uint32_t open[DEEPEST]; /* the open loops, outermost first */
    uint32_t depth;
    int64_t trips;    /* of the open loops together */
    uint32_t budget;  /* instructions still to be written */
    uint32_t names;   /* loops named so far */
    uint32_t several; /* percent of tensors with several blocks */
    uint32_t keep;    /* percent of tensors for each attribute that keeps them on chip */
} Gen;

/* The operands and the condition of an instruction while it is put together. */
typedef struct {
    Operand operands[MOST_OPERANDS];
    uint32_t count;
    Compare guards[MOST_COMPARES]; /* that keep its indices inside their tensors */
    uint32_t nguards;
} Draft;

static bool percent(Gen *gen, uint32_t share) {
    return chance_percent(&gen->chance, share);
}

static int64_t between(Gen *gen, int64_t low, int64_t high) {
    return chance_between(&gen->chance, low, high);
}

static Arena *arena_of(Gen *gen) {
    return gen->builder.arena;
}

static Tensor *tensor_of(Gen *gen, uint32_t tensor) {
    return &gen->builder.func.tensors[tensor];
}

/* ---- tensors ---- */

static int64_t random_partitions(Gen *gen) {
    static const int64_t EDGES[] = {1, 16, 32, 33, 64, 65, 96, 128, 128};
    if (percent(gen, 60)) return EDGES[between(gen, 0, 8)];
    return between(gen, 1, percent(gen, 50) ? 48 : 128);
}

/* `even`: about 16 to 64 bytes over all partitions, so that no tensor dwarfs the others. */
static Form random_form(Gen *gen, bool even) {
    Form form = {.dtype = (Dtype)between(gen, 0, DTYPE_COUNT - 1)};
    form.rank = (uint32_t)between(gen, percent(gen, 10) && !even ? 1 : 2, 3);
    int64_t *shape = NEW_ARRAY(arena_of(gen), int64_t, form.rank);
    form.bytes = dtype_bytes(form.dtype);
    shape[0] = even ? between(gen, 65, 128) : random_partitions(gen);
    int64_t most = percent(gen, 15) ? 100 : 12, fewest = 1;
    if (even) {
        fewest = ceil_div(16, form.bytes);
        most = 48 / form.bytes;
    }
    for (uint32_t i = 1; i < form.rank; i++) {
        shape[i] = i == 1 ? between(gen, fewest, most) : between(gen, 1, even ? 1 : 3);
        form.bytes *= shape[i];
    }
    form.shape = shape;
    return form;
}

static Str random_name(Gen *gen, const char *stem) {
    static const char *const QUOTED[] = {"I-%u (copy)",         "a b%u", "q\"%u", "x\\%u",
                                         "\xc3\xa9t\xc3\xa9%u", "f(%u)"};
    uint32_t number = gen->builder.func.ntensors;
    if (percent(gen, 3)) {
        const char *quoted = QUOTED[between(gen, 0, 5)];
        const char *mark = strstr(quoted, "%u");
        return str_format(arena_of(gen), "%.*s%u%s", (int)(mark - quoted), quoted, number,
                          mark + 2);
    }
    /* Names that spilling would like to give. */
    if (percent(gen, 2)) return str_format(arena_of(gen), "%s0_SpillSave%u", stem, number);
    if (percent(gen, 2)) return str_format(arena_of(gen), "%s1_ReloadStore%u", stem, number);
    if (percent(gen, 10)) return str_format(arena_of(gen), "%s.%u-x$", stem, number);
    return str_format(arena_of(gen), "%s%u", stem, number);
}

/* One to three items with keys of which none means anything. */
static MetaList random_meta(Gen *gen) {
    static const char *const KEYS[] = {"engine", "loc", "file.name", "q$"};
    static const char *const TEXTS[] = {"pe", "attn.py", "", "a \"b\" \\ c", "line 3: x"};
    uint32_t first = (uint32_t)between(gen, 0, 3), count = (uint32_t)between(gen, 1, 3);
    Meta *items = NEW_ARRAY(arena_of(gen), Meta, count);
    for (uint32_t i = 0; i < count; i++) {
        items[i].key = str_from(KEYS[(first + i) % 4]);
        items[i].kind = (MetaKind)between(gen, META_FLAG, META_TEXT);
        if (items[i].kind == META_NUMBER) items[i].number = between(gen, 0, 1000000);
        if (items[i].kind == META_TEXT) items[i].text = str_from(TEXTS[between(gen, 0, 4)]);
    }
    return (MetaList){items, count};
}

static Tensor new_tensor(Gen *gen, Space space, uint32_t number, const char *stem) {
    const Form *form = &gen->forms[number];
    Tensor tensor = {.name = random_name(gen, stem),
                     .space = space,
                     .dtype = form->dtype,
                     .blocks = percent(gen, gen->several) ? between(gen, 2, MOST_BLOCKS_HERE) : 1,
                     .shape = form->shape,
                     .rank = form->rank,
                     .partitions = form->shape[0],
                     .bytes = form->bytes,
                     .align = GRANULE,
                     .base = -1,
                     .offset = -1};
    if (percent(gen, 10)) tensor.meta = random_meta(gen);
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
    if (partitions > 32) return (int32_t)between(gen, 0, 1) * 64;
    return (int32_t)between(gen, 0, 3) * QUADRANT_PARTITIONS;
}

static uint32_t add_sb(Gen *gen, uint32_t form, const char *stem) {
    static const int64_t ALIGNS[] = {16, 64, 64, 256};
    Tensor tensor = new_tensor(gen, SPACE_SB, form, stem);
    tensor.input = percent(gen, 6);
    tensor.output = percent(gen, gen->keep);
    tensor.pin = percent(gen, gen->keep);
    tensor.fixed = percent(gen, gen->keep + 1);
    if (percent(gen, 8)) tensor.base = random_start(gen, tensor.partitions);
    if (percent(gen, 9)) tensor.align = ALIGNS[between(gen, 0, 3)];
    return add_tensor(gen, tensor, form);
}

static uint32_t add_dram(Gen *gen, uint32_t form, bool input) {
    Tensor tensor = new_tensor(gen, SPACE_DRAM, form, input ? "In" : "Out");
    tensor.input = input;
    tensor.output = percent(gen, input ? 15 : 60);
    if (percent(gen, 8)) tensor.align = 64;
    /* Apart from each other: overlapping ones are a case of their own. */
    if (percent(gen, 8)) tensor.offset = (int64_t)gen->builder.func.ntensors << 20;
    return add_tensor(gen, tensor, form);
}

static void declare(Gen *gen, uint32_t count) {
    static const uint32_t SEVERAL[] = {12, 40, 75}, KEEP[] = {1, 5, 11};
    gen->several = SEVERAL[between(gen, 0, 2)];
    gen->keep = KEEP[between(gen, 0, 2)];
    bool even = percent(gen, 55);
    if (even) {
        gen->several = 12;
        gen->keep = 2;
    }
    gen->nforms = (uint32_t)between(gen, 1, MOST_FORMS);
    for (uint32_t i = 0; i < gen->nforms; i++)
        gen->forms[i] = random_form(gen, even);
    for (uint32_t i = 0; i < gen->nforms; i++) {
        add_dram(gen, i, true);
        if (percent(gen, 50)) add_dram(gen, i, percent(gen, 25));
    }
    for (uint32_t i = 0; i < count; i++)
        add_sb(gen, (uint32_t)between(gen, 0, gen->nforms - 1), "t");
    if (percent(gen, 65)) {
        uint32_t form = (uint32_t)between(gen, 0, gen->nforms - 1);
        Tensor tensor = new_tensor(gen, SPACE_PSUM, form, "p");
        add_tensor(gen, tensor, form);
    }
}

/* ---- expressions ---- */

static Affine affine_of(Gen *gen, const Term *terms, uint32_t count) {
    Term *copy = RAW_ARRAY(arena_of(gen), Term, count);
    memcpy(copy, terms, count * sizeof *terms);
    return (Affine){copy, count};
}

static Affine constant(Gen *gen, int64_t value) {
    return affine_constant(arena_of(gen), value);
}

/* Adds `offset` at a random place among the terms, unless it is 0 and others stand. */
static uint32_t add_offset(Gen *gen, Term *terms, uint32_t count, int64_t offset) {
    if (offset == 0 && count > 0) return count;
    uint32_t place = percent(gen, 70) ? count : (uint32_t)between(gen, 0, count);
    memmove(terms + place + 1, terms + place, (count - place) * sizeof *terms);
    terms[place] = (Term){offset, NO_LOOP};
    return count + 1;
}

/* Terms of one to three open loops, without a constant. */
static uint32_t loop_terms(Gen *gen, Term *terms) {
    static const int64_t COEFFICIENTS[] = {1, 1, 1, 1, -1, -1, 2, -2, 3, 0};
    uint32_t count = percent(gen, 30) ? 1 : (uint32_t)between(gen, 2, 3);
    uint32_t first = (uint32_t)between(gen, 0, gen->depth - 1);
    if (count > gen->depth && percent(gen, 80)) count = gen->depth;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t loop = gen->open[(first + i) % gen->depth];
        terms[i] = (Term){COEFFICIENTS[between(gen, 0, 9)], loop};
    }
    return count;
}

/* An index of `count` blocks in a row out of `blocks`, over the open loops; now and then it leaves
 * the tensor at some iterations. False where none was found in a few attempts. */
static bool dynamic_index(Gen *gen, int64_t blocks, int64_t count, Affine *index) {
    for (uint32_t attempt = 0; attempt < 16; attempt++) {
        Term terms[8];
        uint32_t n = loop_terms(gen, terms);
        Range range = affine_range((Affine){terms, n}, &gen->builder.func, NULL);
        int64_t slack = blocks - count - (range.high - range.low);
        if (slack < 0 && !percent(gen, 15)) continue;
        int64_t low = slack < 0 ? between(gen, slack, 0) : between(gen, 0, slack);
        if (percent(gen, 10)) low += percent(gen, 50) ? 1 : -1;
        /* At some iteration, at least, it shall be inside. */
        if (low + (range.high - range.low) < 0 || low > blocks - count) continue;
        n = add_offset(gen, terms, n, low - range.low);
        *index = affine_of(gen, terms, n);
        return true;
    }
    return false;
}

static Affine plus(Gen *gen, Affine affine, int64_t offset) {
    Term terms[10];
    bool added = false;
    for (uint32_t i = 0; i < affine.count; i++) {
        terms[i] = affine.terms[i];
        if (terms[i].loop != NO_LOOP || added) continue;
        terms[i].coefficient += offset;
        added = true;
    }
    uint32_t count = affine.count;
    if (!added) terms[count++] = (Term){offset, NO_LOOP};
    return affine_of(gen, terms, count);
}

/* A condition that an index stays inside [0, end). */
static void guard(Gen *gen, Draft *draft, Affine index, int64_t end) {
    Range range = affine_range(index, &gen->builder.func, NULL);
    if (draft->nguards + 2 > MOST_COMPARES) return;
    if (range.low < 0) draft->guards[draft->nguards++] = (Compare){index, constant(gen, 0), CMP_GE};
    if (range.high >= end)
        draft->guards[draft->nguards++] = (Compare){index, constant(gen, end), CMP_LT};
}

static const Blocks *blocks_of(Gen *gen, BlocksKind kind, Affine low, Affine high) {
    Blocks *blocks = NEW(arena_of(gen), Blocks);
    *blocks = (Blocks){kind, low, high};
    return blocks;
}

static const Blocks *constant_blocks(Gen *gen, int64_t blocks) {
    int64_t low = between(gen, 0, blocks - 1);
    if (percent(gen, 65)) return blocks_of(gen, BLOCKS_ONE, constant(gen, low), (Affine){0});
    int64_t high = between(gen, low + 1, blocks);
    return blocks_of(gen, BLOCKS_RANGE, constant(gen, low), constant(gen, high));
}

/* Some blocks of a tensor; NULL for all. */
static const Blocks *random_blocks(Gen *gen, Draft *draft, uint32_t tensor) {
    int64_t blocks = tensor_of(gen, tensor)->blocks;
    if (blocks == 1) return percent(gen, 95) ? NULL : constant_blocks(gen, 1);
    if (percent(gen, 20)) return NULL;
    if (gen->code != CODE_ANY || gen->depth == 0 || percent(gen, 25))
        return constant_blocks(gen, blocks);
    int64_t count = percent(gen, 70) ? 1 : between(gen, 2, blocks);
    Affine index;
    if (!dynamic_index(gen, blocks, count, &index)) return constant_blocks(gen, blocks);
    if (percent(gen, 75)) guard(gen, draft, index, blocks - count + 1);
    if (count == 1) return blocks_of(gen, BLOCKS_ONE, index, (Affine){0});
    return blocks_of(gen, BLOCKS_RANGE, index, plus(gen, index, count));
}

static const Region *random_region(Gen *gen, const Form *form) {
    Region *region = NEW(arena_of(gen), Region);
    *region = (Region){0, form->shape[0], 0, form->bytes};
    if (percent(gen, 60) && form->bytes > 1) {
        region->b0 = between(gen, 0, form->bytes - 1);
        region->b1 = between(gen, region->b0 + 1, form->bytes);
    }
    if (percent(gen, 50) && form->shape[0] > 1) {
        region->p0 = between(gen, 0, form->shape[0] - 1);
        region->p1 = between(gen, region->p0 + 1, form->shape[0]);
    }
    return region;
}

static Compare random_compare(Gen *gen) {
    Term terms[8];
    uint32_t count = 1;
    terms[0] = (Term){1, gen->open[between(gen, 0, gen->depth - 1)]};
    if (percent(gen, 25)) count = loop_terms(gen, terms);
    Affine left = affine_of(gen, terms, count);
    Comparison comparison = (Comparison)between(gen, CMP_EQ, CMP_GE);
    if (gen->depth > 1 && percent(gen, 35)) {
        terms[0] = (Term){1, gen->open[between(gen, 0, gen->depth - 1)]};
        count = add_offset(gen, terms, 1, between(gen, -1, 1));
        return (Compare){left, affine_of(gen, terms, count), comparison};
    }
    Range range = affine_range(left, &gen->builder.func, NULL);
    return (Compare){left, constant(gen, between(gen, range.low, range.high)), comparison};
}

/* The draft's guards, and at random further comparisons. NULL if there is none. */
static const Condition *random_condition(Gen *gen, const Draft *draft) {
    Compare compares[MOST_COMPARES + 2];
    uint32_t count = draft->nguards;
    memcpy(compares, draft->guards, count * sizeof *compares);
    if (gen->code == CODE_ANY && gen->depth > 0 && percent(gen, 22)) {
        compares[count++] = random_compare(gen);
        if (percent(gen, 40)) compares[count++] = random_compare(gen);
    }
    if (count == 0) return NULL;
    Condition *condition = NEW(arena_of(gen), Condition);
    Compare *copy = RAW_ARRAY(arena_of(gen), Compare, count);
    memcpy(copy, compares, count * sizeof *copy);
    *condition = (Condition){copy, count};
    return condition;
}

/* ---- instructions ---- */

static void add_operand(Gen *gen, Draft *draft, uint32_t tensor, const Blocks *blocks) {
    Operand operand = {.tensor = tensor, .blocks = blocks};
    if (percent(gen, 7)) operand.region = random_region(gen, &gen->forms[gen->known[tensor].form]);
    draft->operands[draft->count++] = operand;
}

/* Writes the instruction: the first `ndst` operands of the draft are its destinations. */
static void emit(Gen *gen, const char *op, const Draft *draft, uint32_t ndst, bool accumulate,
                 const Condition *condition) {
    Operand *operands = RAW_ARRAY(arena_of(gen), Operand, draft->count);
    memcpy(operands, draft->operands, draft->count * sizeof *operands);
    Inst inst = {.op = str_from(op),
                 .accumulate = accumulate,
                 .ndst = ndst,
                 .nsrc = draft->count - ndst,
                 .operands = operands,
                 .condition = condition};
    inst.kind = op_kind(inst.op);
    if (percent(gen, 12)) inst.meta = random_meta(gen);
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
static uint32_t random_source(Gen *gen, uint32_t spaces) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        const Known *known = &gen->known[t];
        if (!(spaces >> tensor_of(gen, t)->space & 1) || !known->written || known->dead) continue;
        uint32_t weight = (known->filled ? 4 : 1) * (known->unread ? 2 : 1);
        seen += weight;
        if (chance_below(&gen->chance, seen) < weight) found = t;
    }
    return found;
}

/* Any tensor of those spaces, rather one whose value was read. */
static uint32_t random_tensor(Gen *gen, uint32_t spaces) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        if (!(spaces >> tensor_of(gen, t)->space & 1)) continue;
        uint32_t weight = !gen->known[t].written ? 8 : gen->known[t].unread ? 1 : 3;
        seen += weight;
        if (chance_below(&gen->chance, seen) < weight) found = t;
    }
    return found;
}

enum { IN_SB = 1 << SPACE_SB, IN_DRAM = 1 << SPACE_DRAM, IN_PSUM = 1 << SPACE_PSUM };

/* Another tensor of the same form in that space, for a transfer; UINT32_MAX if there is none. */
static uint32_t random_partner(Gen *gen, uint32_t tensor, Space space, bool written) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        const Known *known = &gen->known[t];
        if (t == tensor || tensor_of(gen, t)->space != space) continue;
        if (known->form != gen->known[tensor].form || (written && (!known->written || known->dead)))
            continue;
        uint32_t weight = written ? 1 : !known->written ? 8 : known->unread ? 1 : 3;
        seen += weight;
        if (chance_below(&gen->chance, seen) < weight) found = t;
    }
    return found;
}

static const char *random_op(Gen *gen) {
    static const char *const OPS[] = {"matmul", "activation", "tensor_tensor", "reduce.max",
                                      "iota",   "memset",     "transpose$x",   "if_"};
    return OPS[between(gen, 0, 7)];
}

static void add_destination(Gen *gen, Draft *draft) {
    uint32_t spaces = percent(gen, 75) ? IN_SB : IN_SB | IN_DRAM | IN_PSUM;
    uint32_t tensor = random_tensor(gen, spaces);
    bool whole = !gen->known[tensor].filled && percent(gen, 60);
    const Blocks *blocks = whole ? NULL : random_blocks(gen, draft, tensor);
    add_operand(gen, draft, tensor, blocks);
    if (whole) draft->operands[draft->count - 1].region = NULL;
}

static void add_source(Gen *gen, Draft *draft) {
    uint32_t tensor = random_source(gen, percent(gen, 85) ? IN_SB : IN_SB | IN_DRAM | IN_PSUM);
    if (draft->count > 0 && percent(gen, 8)) {
        uint32_t same = draft->operands[between(gen, 0, draft->count - 1)].tensor;
        if (gen->known[same].written && !gen->known[same].dead) tensor = same;
    }
    if (tensor != UINT32_MAX) add_operand(gen, draft, tensor, random_blocks(gen, draft, tensor));
}

static void plain(Gen *gen) {
    Draft draft = {.count = 0};
    uint32_t ndst = percent(gen, 75) ? 1 : (uint32_t)between(gen, 0, 3);
    for (uint32_t i = 0; i < ndst; i++)
        add_destination(gen, &draft);
    uint32_t nsrc = (uint32_t)between(gen, 0, percent(gen, 80) ? 2 : 4);
    for (uint32_t i = 0; i < nsrc; i++)
        add_source(gen, &draft);
    emit(gen, random_op(gen), &draft, ndst, false, random_condition(gen, &draft));
}

static void accumulate(Gen *gen) {
    Draft draft = {.count = 0};
    uint32_t tensor = random_source(gen, percent(gen, 90) ? IN_SB : IN_SB | IN_DRAM | IN_PSUM);
    if (tensor == UINT32_MAX) {
        plain(gen);
        return;
    }
    add_operand(gen, &draft, tensor, random_blocks(gen, &draft, tensor));
    uint32_t nsrc = (uint32_t)between(gen, 0, 2);
    for (uint32_t i = 0; i < nsrc; i++)
        add_source(gen, &draft);
    emit(gen, random_op(gen), &draft, 1, true, random_condition(gen, &draft));
}

/* Blocks of both ends of a transfer: all of both where they have the same number, else one each. */
static void transfer_operands(Gen *gen, Draft *draft, uint32_t to, uint32_t from) {
    bool alike = tensor_of(gen, to)->blocks == tensor_of(gen, from)->blocks;
    const Region *region = NULL;
    if (percent(gen, 10)) region = random_region(gen, &gen->forms[gen->known[to].form]);
    const uint32_t ends[2] = {to, from};
    bool all = alike && percent(gen, gen->known[to].filled ? 50 : 80);
    for (int i = 0; i < 2; i++) {
        int64_t blocks = tensor_of(gen, ends[i])->blocks;
        const Blocks *one = NULL;
        Affine index = constant(gen, between(gen, 0, blocks - 1));
        if (!all && (blocks > 1 || percent(gen, 5))) {
            bool dynamic = gen->code == CODE_ANY && gen->depth > 0 && percent(gen, 60) &&
                           dynamic_index(gen, blocks, 1, &index);
            /* The two ends must name as many blocks at every iteration. */
            if (dynamic) guard(gen, draft, index, blocks);
            one = blocks_of(gen, BLOCKS_ONE, index, (Affine){0});
        }
        draft->operands[draft->count++] =
            (Operand){.tensor = ends[i], .blocks = one, .region = region};
    }
}

static void transfer(Gen *gen, const char *op, uint32_t to, uint32_t from) {
    Draft draft = {.count = 0};
    transfer_operands(gen, &draft, to, from);
    if (op_kind(str_from(op)) == OP_LOAD) gen->known[from].loaded = true;
    emit(gen, op, &draft, 1, false, random_condition(gen, &draft));
}

static void load(Gen *gen) {
    uint32_t to = random_tensor(gen, IN_SB);
    uint32_t from = random_partner(gen, to, SPACE_DRAM, true);
    if (from == UINT32_MAX)
        plain(gen);
    else
        transfer(gen, "load", to, from);
}

static void save(Gen *gen) {
    uint32_t from = random_source(gen, IN_SB);
    uint32_t to = from == UINT32_MAX ? from : random_partner(gen, from, SPACE_DRAM, false);
    if (to == UINT32_MAX)
        load(gen);
    else
        transfer(gen, "save", to, from);
}

/* `%a = load %X`, then `%X = save %b`, then a use of %a. */
static void save_over(Gen *gen) {
    uint32_t from = random_source(gen, IN_SB);
    uint32_t home = from == UINT32_MAX ? from : random_partner(gen, from, SPACE_DRAM, true);
    if (home == UINT32_MAX) {
        load(gen);
        return;
    }
    uint32_t to = random_partner(gen, home, SPACE_SB, false);
    transfer(gen, "load", to, home);
    if (percent(gen, 30)) plain(gen);
    transfer(gen, "save", home, from);
    if (percent(gen, 30)) plain(gen);
    Draft draft = {.count = 0};
    add_operand(gen, &draft, to, random_blocks(gen, &draft, to));
    emit(gen, "use", &draft, 0, false, random_condition(gen, &draft));
}

static void copies(Gen *gen) {
    uint32_t from = random_source(gen, IN_SB);
    if (from == UINT32_MAX) {
        load(gen);
        return;
    }
    uint32_t links = percent(gen, 65) ? 1 : (uint32_t)between(gen, 2, 3);
    while (links-- > 0) {
        uint32_t to = random_partner(gen, from, SPACE_SB, false);
        if (to == UINT32_MAX) {
            plain(gen);
            return;
        }
        transfer(gen, "copy", to, from);
        from = to;
    }
}

/* A tensor of its own that is loaded or made and never read. */
static void dead(Gen *gen) {
    if (gen->builder.func.ntensors + 8 > MOST_TENSORS) return;
    uint32_t tensor = add_sb(gen, (uint32_t)between(gen, 0, gen->nforms - 1), "d");
    tensor_of(gen, tensor)->output = false;
    gen->known[tensor].dead = true;
    uint32_t from = random_partner(gen, tensor, SPACE_DRAM, true);
    if (from != UINT32_MAX && percent(gen, 75)) {
        transfer(gen, "load", tensor, from);
        return;
    }
    Draft draft = {.count = 0};
    add_operand(gen, &draft, tensor, random_blocks(gen, &draft, tensor));
    emit(gen, random_op(gen), &draft, 1, false, random_condition(gen, &draft));
}

/* ---- loops ---- */

static void statements(Gen *gen, uint32_t count);

static Str loop_name(Gen *gen) {
    static const char *const STEMS[] = {"i", "j", "k", "b.x", "o_", "t$"};
    if (percent(gen, 50)) return str_format(arena_of(gen), "%c", (char)('i' + gen->depth));
    return str_format(arena_of(gen), "%s%u", STEMS[between(gen, 0, 5)], gen->names++);
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
    return percent(gen, 80) ? 0 : between(gen, 1, 5);
}

/* `%t = ...` reached only behind a read that is skipped in the first iteration. */
static void defined_later(Gen *gen, uint32_t loop) {
    uint32_t tensor = random_tensor(gen, IN_SB);
    const Loop *around = &gen->builder.func.loops[loop];
    if (gen->known[tensor].written || around->high - around->low < 2) return;
    Draft draft = {.count = 0};
    add_operand(gen, &draft, tensor, NULL);
    draft.operands[0].region = NULL;
    Term index = {1, loop};
    draft.guards[draft.nguards++] =
        (Compare){affine_of(gen, &index, 1), constant(gen, around->low), CMP_GT};
    emit(gen, "use", &draft, 0, false, random_condition(gen, &draft));
    if (percent(gen, 50)) plain(gen);
    draft.nguards = 0;
    emit(gen, random_op(gen), &draft, 1, false, NULL);
}

static void any_loop(Gen *gen) {
    int64_t trips = percent(gen, 10) ? 1 : between(gen, 2, 4);
    if (gen->budget < 2 || !can_open(gen, trips)) {
        plain(gen);
        return;
    }
    int64_t low = random_low(gen);
    uint32_t loop = open_loop(gen, low, low + trips);
    if (percent(gen, 35)) defined_later(gen, loop);
    statements(gen, (uint32_t)between(gen, 1, 6));
    close_loop(gen);
}

static void empty_loop(Gen *gen) {
    if (!can_open(gen, 3)) return;
    open_loop(gen, random_low(gen), 6);
    if (can_open(gen, 2) && percent(gen, 30)) {
        open_loop(gen, 0, 2);
        close_loop(gen);
    }
    close_loop(gen);
}

/* A tensor of several blocks, or UINT32_MAX. */
static uint32_t random_tiles(Gen *gen, bool written) {
    uint32_t found = UINT32_MAX, seen = 0;
    for (uint32_t t = 0; t < gen->builder.func.ntensors; t++) {
        const Tensor *tensor = tensor_of(gen, t);
        if (tensor->space != SPACE_SB || tensor->blocks < 2 || gen->known[t].dead) continue;
        if (written && !gen->known[t].filled) continue;
        if (chance_below(&gen->chance, ++seen) == 0) found = t;
    }
    return found;
}

static void use_tile(Gen *gen, uint32_t tensor, const Blocks *blocks) {
    Draft draft = {.count = 0};
    uint32_t ndst = 0;
    uint32_t other = random_tensor(gen, IN_SB);
    if (percent(gen, 40) && tensor_of(gen, other)->blocks == 1) {
        draft.operands[draft.count++] = (Operand){.tensor = other};
        ndst = 1;
    }
    draft.operands[draft.count++] = (Operand){.tensor = tensor, .blocks = blocks};
    emit(gen, ndst ? random_op(gen) : "use", &draft, ndst, false, NULL);
}

/* A write of the whole tile: from DRAM where there is a tensor like it. */
static void fill_tile(Gen *gen, uint32_t tensor, const Blocks *blocks) {
    Draft draft = {.count = 0};
    draft.operands[draft.count++] = (Operand){.tensor = tensor, .blocks = blocks};
    uint32_t from = random_partner(gen, tensor, SPACE_DRAM, true);
    if (from != UINT32_MAX && tensor_of(gen, from)->blocks == tensor_of(gen, tensor)->blocks) {
        draft.operands[draft.count++] = (Operand){.tensor = from, .blocks = blocks};
        gen->known[from].loaded = true;
        emit(gen, "load", &draft, 1, false, NULL);
        return;
    }
    emit(gen, random_op(gen), &draft, 1, false, NULL);
}

/* `loop b = 0..B { %t[b] = ... }`: fills or reads a tensor tile by tile, perhaps both. */
static void block_loop(Gen *gen) {
    bool fills = percent(gen, 70);
    uint32_t tensor = random_tiles(gen, !fills);
    if (tensor == UINT32_MAX || !can_open(gen, tensor_of(gen, tensor)->blocks)) {
        plain(gen);
        return;
    }
    int64_t low = gen->code == CODE_ANY ? random_low(gen) : 0;
    uint32_t loop = open_loop(gen, low, low + tensor_of(gen, tensor)->blocks);
    Term terms[2] = {{1, loop}};
    uint32_t count = low == 0 ? 1 : add_offset(gen, terms, 1, -low);
    const Blocks *blocks = blocks_of(gen, BLOCKS_ONE, affine_of(gen, terms, count), (Affine){0});
    if (fills) fill_tile(gen, tensor, blocks);
    if (!fills || percent(gen, 40)) use_tile(gen, tensor, blocks);
    close_loop(gen);
    gen->known[tensor].filled = true;
}

/* ---- statements ---- */

typedef void Maker(Gen *gen);

/* Kinds of statement and how often each comes; `loops`: only where loops are wanted. */
static const struct {
    Maker *make;
    uint32_t weight;
    RandomCode least; /* the simplest code that may have it: any, block loops or straight */
} MAKERS[] = {
    {plain, 30, CODE_STRAIGHT}, {load, 16, CODE_STRAIGHT},         {save, 8, CODE_STRAIGHT},
    {copies, 8, CODE_STRAIGHT}, {accumulate, 9, CODE_STRAIGHT},    {save_over, 5, CODE_STRAIGHT},
    {dead, 3, CODE_STRAIGHT},   {block_loop, 8, CODE_BLOCK_LOOPS}, {any_loop, 18, CODE_ANY},
    {empty_loop, 2, CODE_ANY},
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

static void statements(Gen *gen, uint32_t count) {
    for (uint32_t i = 0; i < count && gen->budget > 0; i++)
        statement(gen);
}

/* Fills many tensors one after another, all of which are live then. */
static void fill_first(Gen *gen) {
    for (uint32_t t = 0; t < gen->builder.func.ntensors && gen->budget > 2; t++) {
        if (tensor_of(gen, t)->space != SPACE_SB || gen->known[t].filled || percent(gen, 30))
            continue;
        fill_tile(gen, t, NULL);
    }
}

/* Reads some of what was written and not read yet, so that values live on to the end. */
static void read_rest(Gen *gen) {
    Draft draft = {.count = 0};
    for (uint32_t t = 0; t < gen->builder.func.ntensors && draft.count < MOST_OPERANDS; t++) {
        const Known *known = &gen->known[t];
        if (tensor_of(gen, t)->space != SPACE_SB || !known->unread || known->dead) continue;
        if (percent(gen, 65)) add_operand(gen, &draft, t, random_blocks(gen, &draft, t));
        if (draft.count < 2) continue;
        emit(gen, "use", &draft, 0, false, NULL);
        draft.count = 0;
    }
    if (draft.count > 0) emit(gen, "use", &draft, 0, false, NULL);
}

static uint32_t random_budget(Gen *gen, RandomSize size) {
    if (size == SIZE_ANY) size = (RandomSize)between(gen, SIZE_SMALL, SIZE_LARGE);
    if (size == SIZE_SMALL) return (uint32_t)between(gen, 3, 12);
    return (uint32_t)(size == SIZE_MEDIUM ? between(gen, 10, 25) : between(gen, 25, 40));
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
    if (percent(&gen, 15)) gen.builder.func.meta = random_meta(&gen);
    gen.budget = random_budget(&gen, shape.size);
    declare(&gen, (uint32_t)between(&gen, 2, 6 + 2 * gen.budget / 3));
    if (percent(&gen, 45)) fill_first(&gen);
    while (gen.budget > 0)
        statements(&gen, 1);
    read_rest(&gen);
    Func *func = build_finish(&gen.builder);
    repair_reads(func, arena);
    Module *module = NEW(arena, Module);
    *module = (Module){.funcs = func, .nfuncs = 1, .has_target = true};
    place_fixed(func, &gen.chance, arena);
    module->target = random_target(func, choose_room(&gen, shape.room), &gen.chance, arena);
    return module;
}
