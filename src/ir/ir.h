/* The linearized function: tensors, and instructions in program order with loop bodies in line.
 *
 * A Func is plain data in one arena. Passes read it; only the passes whose name says so make a new
 * one. Ids are positions: tensor t is tensors[t], instruction p is insts[p] and stands at point p,
 * loop L is loops[L], loops in the order in which they open (a parent before its children). */
#ifndef IR_IR_H
#define IR_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/affine.h"
#include "ir/geometry.h"
#include "ir/target.h"
#include "support/source.h"
#include "support/str.h"

typedef enum { SPACE_SB, SPACE_DRAM, SPACE_PSUM } Space;

typedef enum {
    DT_U8,
    DT_I8,
    DT_FP8E3,
    DT_FP8E4,
    DT_FP8E5,
    DT_U16,
    DT_I16,
    DT_F16,
    DT_BF16,
    DT_U32,
    DT_I32,
    DT_F32,
    DT_U64,
    DT_I64,
    DT_F64,
    DTYPE_COUNT
} Dtype;

typedef enum { META_FLAG, META_NUMBER, META_TEXT } MetaKind;

/* One `!key` or `!key=value`. */
typedef struct {
    Str key;
    MetaKind kind;
    int64_t number; /* META_NUMBER */
    Str text;       /* META_TEXT: without quotes or escapes */
} Meta;

typedef struct {
    const Meta *items; /* in the order written; no key twice */
    uint32_t count;
} MetaList;

/* Where one block of an sb tensor lies. */
typedef struct {
    int32_t partition; /* first partition: 0, 32, 64 or 96 */
    int64_t byte;      /* first byte of the partition's row */
} Place;

typedef struct {
    Str name;
    Space space;
    Dtype dtype;
    int64_t blocks;       /* at least 1; each is a rectangle of its own. sb: at most MOST_BLOCKS */
    const int64_t *shape; /* [rank] of one block, partitions first; each at least 1 */
    uint32_t rank;
    int64_t partitions; /* shape[0]; 1 to 128 for sb */
    int64_t bytes;      /* bytes per partition of one block: other dimensions times element size */
    int64_t align;      /* bytes, a power of two of at least 8 */
    int32_t base;       /* sb: first partition that it must have, -1 if free */
    bool input, output, pin;
    bool fixed;      /* came in with `at` */
    const Place *at; /* sb: [blocks] where it lies, NULL while it lies nowhere */
    int64_t offset;  /* dram: byte offset in the spill area, -1 if none */
    MetaList meta;
    Span span;       /* its name in the declaration */
    Span shape_span; /* its shape there */
} Tensor;

enum { MOST_BLOCKS = 1 << 24, DEEPEST_NEST = 4096 };

/* Which blocks an operand names: all, one, or `low` to `high` - 1. */
typedef enum { BLOCKS_ALL, BLOCKS_ONE, BLOCKS_RANGE } BlocksKind;

typedef struct {
    BlocksKind kind;
    Affine low;  /* BLOCKS_ONE, BLOCKS_RANGE */
    Affine high; /* BLOCKS_RANGE: exclusive; neither end has a modulus */
    Span span;   /* of what stands in the brackets, empty where nobody wrote it */
} Blocks;

/* Part of each block: partitions [p0, p1) and bytes [b0, b1), neither empty. */
typedef struct {
    int64_t p0, p1, b0, b1;
} Region;

typedef struct {
    uint32_t tensor;
    Span span;
    const Blocks *blocks; /* NULL: all */
    const Region *region; /* NULL: whole blocks */
} Operand;

typedef enum { OP_OTHER, OP_LOAD, OP_SAVE, OP_COPY } OpKind;

typedef struct {
    Str op;
    OpKind kind;
    bool accumulate; /* `+=`: its one destination is read too */
    uint32_t ndst, nsrc;
    uint32_t loop;              /* innermost loop around it, NO_LOOP if none */
    const Operand *operands;    /* [ndst] destinations, then [nsrc] sources */
    const Condition *condition; /* NULL: always */
    MetaList meta;
    Span span; /* of the statement's first token */
} Inst;

/* A loop over index = low, low + 1, ... high - 1; at least one trip. Its body is the instructions
 * [first, end), maybe none. */
typedef struct {
    Str name;
    int64_t low, high;
    uint32_t parent; /* NO_LOOP at top level */
    uint32_t depth;  /* loops around it: 0 at top level */
    uint32_t first, end;
    Span span; /* of the index's name */
} Loop;

typedef struct Func {
    Str name;
    MetaList meta;
    Tensor *tensors;
    Inst *insts;
    Loop *loops;
    uint32_t ntensors, ninsts, nloops;
    Span span; /* of its name */
} Func;

/* A file. */
typedef struct {
    Target target;
    bool has_target; /* the file named one; else it is the default */
    Span target_span;
    Func *funcs;
    uint32_t nfuncs;
} Module;

/* The destinations and sources of an instruction. */
static inline const Operand *inst_dst(const Inst *inst) {
    return inst->operands;
}
static inline const Operand *inst_src(const Inst *inst) {
    return inst->operands + inst->ndst;
}

/* `sb`, `bf16` and so on; the reverse gives -1 for a name that is none. */
Str space_name(Space space);
int space_from_name(Str name);
Str dtype_name(Dtype dtype);
int dtype_from_name(Str name);
int64_t dtype_bytes(Dtype dtype);
Str comparison_name(Comparison comparison);

/* OP_LOAD, OP_SAVE or OP_COPY for those three opcodes, else OP_OTHER. */
OpKind op_kind(Str op);

/* How often the body of `loop` runs in all: the product of its and its outer loops' trip counts,
 * saturated; 1 for NO_LOOP. */
int64_t loop_trips(const Func *func, uint32_t loop);

/* True if `outer` is `inner` or lies around it; NO_LOOP lies around all. */
bool loop_encloses(const Func *func, uint32_t outer, uint32_t inner);

/* The outermost loop around `loop`, or itself; NO_LOOP for NO_LOOP. O(depth). */
uint32_t loop_outermost(const Func *func, uint32_t loop);

/* The innermost loop around both (either may be NO_LOOP). */
uint32_t loop_common(const Func *func, uint32_t a, uint32_t b);

/* The loops around a point from outside in: of `outer` the next one, of NO_LOOP the outermost, and
 * NO_LOOP behind the last. O(loops that open between the two). */
uint32_t loop_inward(const Func *func, uint32_t point, uint32_t outer);

/* The item of that key, or NULL. */
const Meta *meta_find(MetaList meta, const char *key);

/* Copies of a list with one item more at its end, or without the items of a key. */
MetaList meta_with(Arena *arena, MetaList meta, Meta item);
MetaList meta_without(Arena *arena, MetaList meta, const char *key);

/* The blocks that an operand can name, [first, last], clipped to its tensor; [0, -1] where none.
 * `exact`: it names just those on every run of the instruction. */
typedef struct {
    int64_t first, last;
    bool exact;
} BlockSpan;

BlockSpan operand_blocks(const Func *func, const Operand *operand);

/* Blocks that an operand names at a time, the most where their number varies. */
int64_t operand_most_blocks(const Func *func, const Operand *operand);

/* True if both indices are written alike: all blocks, or terms that are equal. */
bool blocks_equal(const Blocks *a, const Blocks *b);

/* True if the operand names whole blocks: no region, or one that is not smaller. */
bool operand_is_whole(const Func *func, const Operand *operand);

/* True if the tensor never leaves the chip: fixed, pinned or an output. */
bool tensor_stays(const Tensor *tensor);

/* Granules that one block of an sb tensor takes where its place is aligned. */
uint32_t tensor_height(const Tensor *tensor);

/* The same for its alignment. */
uint32_t tensor_align(const Tensor *tensor);

/* The granules that it touches at a place. */
Rect tensor_rect(const Tensor *tensor, Place place);

/* The place of a block whose rectangle begins at granule `offset` of a band. */
Place place_at(uint32_t offset, uint8_t band);

/* Gives the function instructions of its own, which may be changed: those that it had may be shared
 * with another. */
void own_insts(Func *func, Arena *arena);

/* The instruction with operands of its own, tensor t of each now new_id[t]. */
Inst renumbered_inst(const Inst *inst, const uint32_t *new_id, Arena *arena);

/* Walks loops and instructions in program order: next() gives one event at a time.
 *     for (Walk walk = walk_begin(func); walk_next(&walk);) switch (walk.event) ... */
typedef enum { WALK_INST, WALK_OPEN, WALK_CLOSE } WalkEvent;

typedef struct {
    const Func *func;
    WalkEvent event;
    uint32_t inst; /* WALK_INST: its point. Else the point that comes next */
    uint32_t loop; /* WALK_OPEN, WALK_CLOSE: which. WALK_INST: the loop around it */
    uint32_t next_inst, next_loop, current; /* the walk's own */
} Walk;

Walk walk_begin(const Func *func);
bool walk_next(Walk *walk);

/* [ntensors] the tensors that some operand names. O(tensors + operands). */
bool *find_named(const Func *func, Arena *arena);

#endif
