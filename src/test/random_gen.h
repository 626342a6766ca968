/* The generator's own state, shared by its parts: tensors, indices, instructions, loops. Not for
 * tests. The order in which random numbers are drawn decides what a seed yields: keep it. */
#ifndef TEST_RANDOM_GEN_H
#define TEST_RANDOM_GEN_H

#include "ir/build.h"
#include "test/chance.h"
#include "test/random.h"

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

/* Sets of spaces. */
enum { IN_SB = 1 << SPACE_SB, IN_DRAM = 1 << SPACE_DRAM, IN_PSUM = 1 << SPACE_PSUM };

static inline bool gen_percent(Gen *gen, uint32_t share) {
    return chance_percent(&gen->chance, share);
}

static inline int64_t gen_between(Gen *gen, int64_t low, int64_t high) {
    return chance_between(&gen->chance, low, high);
}

static inline Arena *gen_arena(Gen *gen) {
    return gen->builder.arena;
}

static inline Tensor *gen_tensor(Gen *gen, uint32_t tensor) {
    return &gen->builder.func.tensors[tensor];
}

/* ---- random_tensors.c: declarations ---- */

/* One to three items with keys of which none means anything. */
MetaList gen_meta(Gen *gen);

/* Declares one more `sb` tensor, its name made from `stem`. */
uint32_t gen_add_sb(Gen *gen, uint32_t form, const char *stem);

/* Declares `count` `sb` tensors and what else there is. */
void gen_declare(Gen *gen, uint32_t count);

/* ---- random_index.c: indices, regions, conditions ---- */

Affine gen_affine(Gen *gen, const Term *terms, uint32_t count);
Affine gen_constant(Gen *gen, int64_t value);

/* Adds `offset` at a random place among the terms, unless it is 0 and others stand. */
uint32_t gen_add_offset(Gen *gen, Term *terms, uint32_t count, int64_t offset);

/* An index of `count` blocks in a row out of `blocks`, over the open loops; of one block it may be
 * a remainder. Where it leaves the tensor at some iterations, the draft gets a guard. False where
 * none was found in a few attempts. */
bool gen_index(Gen *gen, Draft *draft, int64_t blocks, int64_t count, Affine *index);

const Blocks *gen_blocks(Gen *gen, BlocksKind kind, Affine low, Affine high);

/* Some blocks of a tensor; NULL for all. */
const Blocks *gen_some_blocks(Gen *gen, Draft *draft, uint32_t tensor);

const Region *gen_region(Gen *gen, const Form *form);

/* The draft's guards, and at random further comparisons. NULL if there is none. */
const Condition *gen_condition(Gen *gen, const Draft *draft);

/* ---- random_insts.c: instructions ---- */

void gen_add_operand(Gen *gen, Draft *draft, uint32_t tensor, const Blocks *blocks);

/* Writes the instruction: the first `ndst` operands of the draft are its destinations. */
void gen_emit(Gen *gen, const char *op, const Draft *draft, uint32_t ndst, bool accumulate,
              const Condition *condition);

/* Any tensor of those spaces, rather one whose value was read. */
uint32_t gen_any_tensor(Gen *gen, uint32_t spaces);

/* Another tensor of the same form in that space, for a transfer; UINT32_MAX if there is none. */
uint32_t gen_partner(Gen *gen, uint32_t tensor, Space space, bool written);

const char *gen_op(Gen *gen);

/* Kinds of statement. */
void gen_plain(Gen *gen);
void gen_accumulate(Gen *gen);
void gen_load(Gen *gen);
void gen_save(Gen *gen);

/* `%a = load %X`, then `%X = save %b`, then a use of %a. */
void gen_save_over(Gen *gen);

void gen_copies(Gen *gen);

/* A tensor of its own that is loaded or made and never read. */
void gen_dead(Gen *gen);

/* ---- random_loops.c: loops ---- */

void gen_any_loop(Gen *gen);
void gen_empty_loop(Gen *gen);

/* A write of the whole tile: from DRAM where there is a tensor like it. */
void gen_fill_tile(Gen *gen, uint32_t tensor, const Blocks *blocks);

/* `loop b = 0..B { %t[b] = ... }`: fills or reads a tensor tile by tile, perhaps both. */
void gen_block_loop(Gen *gen);

/* ---- random.c ---- */

/* At most `count`, as long as there is budget. */
void gen_statements(Gen *gen, uint32_t count);

#endif
