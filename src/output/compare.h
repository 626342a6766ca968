/* How two allocations of the same functions differ: what a reviewer wants to know. */
#ifndef OUTPUT_COMPARE_H
#define OUTPUT_COMPARE_H

#include "ir/ir.h"
#include "support/writer.h"

typedef struct {
    const Tensor **items; /* in order of declaration */
    size_t count, capacity;
} TensorList;

/* A tensor in one of the two files. One that is neither declared nor spilled is not there. */
typedef struct {
    const Tensor *tensor;            /* its declaration; NULL if it is gone */
    TensorList homes, copies;        /* what spilling has put in its place */
    uint32_t saves, reloads;         /* the instructions that spilling added for it */
    int64_t leaving;                 /* blocks that leave of one that is still declared */
    int64_t load_cycles, load_bytes; /* of its other loads, as often as they run */
} Version;

static inline bool version_is_spilled(const Version *version) {
    return version->homes.count + version->copies.count > 0 || version->leaving > 0;
}

typedef enum { SIDE_OLD, SIDE_NEW, SIDES } Side;

typedef enum {
    CHANGE_ADDED,
    CHANGE_REMOVED,
    CHANGE_MOVED,   /* other places; a tensor may be resized as well */
    CHANGE_RESIZED, /* another space, shape or data type */
    CHANGE_SPILLED, /* in both files, spilled in the new one only, itself or what it is part of; or
                     * more of its blocks leave there */
    CHANGE_UNSPILLED,
    CHANGE_KINDS
} ChangeKind;

typedef struct {
    Str name;
    const Version *versions[SIDES]; /* NULL where it is not there */
} TensorChange;

typedef struct {
    TensorChange *items;
    size_t count, capacity;
} ChangeList;

/* One function. Where only one file has it, all its tensors are added or removed. */
typedef struct {
    Str name;
    const Func *funcs[SIDES]; /* NULL where it is missing */
    ChangeList lists[CHANGE_KINDS];
    int64_t high_water[SIDES];   /* bytes per partition */
    int64_t spill_cycles[SIDES]; /* DMAs that spilling added, less loads that it made needless */
    int64_t dma_bytes[SIDES];    /* likewise */
    bool differs;
} FuncChanges;

typedef struct {
    FuncChanges *funcs; /* in the order of the old file, then those that only the new one has */
    size_t nfuncs, func_capacity;
    bool differ;
} Changes;

/* Compares by name; the homes and working copies of one tensor by their order. Instructions are
 * not compared. A load is needless where the other file has it and the tensor is spilled.
 * Everything lives in `arena` or in the modules. O(size of both). */
Changes compare_modules(const Module *old, const Module *new, Arena *arena);

/* A summary for people. `all`: every change; else the first ten of each kind, and how many more. */
void write_changes_text(const Changes *changes, bool all, Writer *out);

/* `{"functions": [{"name", "added", "removed", "moved", "resized", "spilled", "unspilled",
 * "high_water", "spill_cycles", "dma_bytes"}]}`: each change is `{"tensor", "old", "new"}`, each
 * figure `[old, new]`; null stands for what is not there. */
void write_changes_json(const Changes *changes, Writer *out);

#endif
