/* Changes of a function that take less of the State Buffer. */
#ifndef DRIVER_FIT_CHANGE_H
#define DRIVER_FIT_CHANGE_H

#include "ir/ir.h"
#include "support/writer.h"

/* From the cheapest for who wrote the kernel to the dearest: the first two leave every value as it
 * is, and the last two ask for another machine. */
typedef enum {
    CHANGE_LOAD,       /* the load at point `from` moved right before point `to` */
    CHANGE_BUFFERS,    /* `then` blocks, where every index is taken `mod` their number */
    CHANGE_TYPE,       /* a data type half as wide */
    CHANGE_BYTES,      /* `then` bytes per partition for each block */
    CHANGE_PARTITIONS, /* `then` partitions */
    CHANGE_ROOM,       /* `then` usable bytes */
    CHANGE_TARGET      /* another built-in target, of `then` usable bytes */
} FitChangeKind;

typedef struct FitChange {
    FitChangeKind kind;
    uint32_t tensor; /* but of CHANGE_TARGET and CHANGE_ROOM */
    int64_t then;
    bool or_fewer; /* CHANGE_ROOM: fewer may be enough too, and were not tried */
    uint32_t from, to;
    const Target *target;         /* CHANGE_TARGET */
    const struct FitChange *also; /* a change of another tensor that is made too; NULL: none */
} FitChange;

/* The function with the change made, NULL where it cannot be made: a region that would reach beyond
 * its block, an end of a copy, a place that is given. Other buffers and a load that is moved leave
 * every value that is read as it is, as a run tells. For a target: the function itself.
 * O(operands), and a run. */
const Func *make_change(const Func *func, FitChange change, const Target *target, Arena *arena);

/* True if every index of the tensor is taken `mod` the number of its blocks. O(operands). */
bool is_all_buffered(const Func *func, uint32_t tensor);

/* `%x with 1016 bytes/partition fewer, 8 of 1024`; two of them joined by `, and`. */
void write_change(const Func *func, FitChange change, const Source *source, Writer *out);

/* What it, or the first of two, is about: the tensor's declaration, or the load; nothing for a
 * target. */
Span change_span(const Func *func, FitChange change);

/* The data type of the same kind half as wide, or `dtype` itself where there is none. */
Dtype half_dtype(Dtype dtype);

#endif
