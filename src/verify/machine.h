/* A machine on which one function runs: where each symbolic value lies.
 *
 * What a tensor contains is kept by its own blocks and exact rectangles. Where storage is shared, a
 * second map says who owns it: the granules of each quadrant of the State Buffer are owned by
 * blocks of `sb` tensors, the bytes of the spill area by `dram` tensors. A write takes what it
 * touches from whoever owned it; contents count only as far as their storage is still owned, or its
 * owner has put the same values there (the other end of an elided copy has). */
#ifndef VERIFY_MACHINE_H
#define VERIFY_MACHINE_H

#include "verify/extents.h"

#define NO_INST UINT32_MAX

/* One tensor of the function. */
typedef struct {
    Extents contents;     /* by block */
    uint64_t first_block; /* sb: number of its block 0 among all blocks of sb tensors */
} Store;

typedef struct {
    PlanePiece *items;
    size_t count, capacity;
} Pieces;

/* Storage, for both machines of a run. */
typedef struct {
    Arena *arena;
    PlanePool planes;
    ExtentPool extents;
    Pieces scratch; /* of one write */
} Storage;

/* Part of a block range, or of each block in it, whose storage somebody else owns now, with other
 * values in it. */
typedef struct {
    int64_t low, high; /* blocks */
    Region rect;
    uint32_t owner;  /* the tensor that has it */
    int64_t block;   /* sb: which block of it */
    uint32_t writer; /* the instruction that took it, NO_INST: had it on entry */
} Loss;

typedef struct {
    const Func *func;
    Storage *storage;
    Store *stores;                /* [ntensors] */
    bool placed;                  /* sb tensors share the State Buffer */
    bool is_result;               /* homes share the spill area too */
    Extents quadrants[QUADRANTS]; /* by granule; owner: number of a block */
    Extents area;                 /* by byte; owner: tensor */
    uint64_t *used;               /* [sb blocks] the last step that read or wrote it */
    uint64_t reading;             /* the step that reads */
    uint64_t sharing;             /* the last one that read storage that another has */
    uint32_t *block_tensor;       /* [sb blocks] the tensor, where several are placed */
    Loss *losses;                 /* scratch */
    size_t nlosses, losses_capacity;
} Machine;

void machine_init(Machine *machine, const Func *func, Storage *storage, bool placed,
                  bool is_result);

/* The blocks and the rectangle that an operand names now. Relative block r is block low + r. */
typedef struct {
    uint32_t tensor;
    int64_t low, count; /* count may be 0; else all of them exist, or nothing may be done with it */
    Region rect;
    bool whole; /* rect is all of a block */
} MachineAccess;

MachineAccess machine_resolve(const Machine *machine, const Operand *operand,
                              const int64_t *indices);

/* True if it names a block that its tensor does not have; then *block is the first such. */
bool access_strays(const Machine *machine, const MachineAccess *access, int64_t *block);

/* All of a tensor. */
MachineAccess machine_all(const Machine *machine, uint32_t tensor);

/* What an operand holds: segments of relative blocks in order, those without any value left out. */
typedef struct {
    Extent *items; /* contents seen from the relative block number; each holds a reference */
    size_t count, capacity;
} Segments;

/* Reads. What has been lost is left out. `step` marks the blocks as used, 0: does not. */
void machine_read(Machine *machine, const MachineAccess *access, uint64_t step, Segments *out);
void segments_drop(Machine *machine, Segments *segments);

/* The losses of an access, in machine->losses. */
void machine_losses(Machine *machine, const MachineAccess *access);

/* Writes a fresh value, whose first element is the rectangle's first corner. `inst` is remembered
 * as the one that took the storage. Returns true if it took storage of a block that the same step
 * uses too, perhaps another part of it. */
bool machine_write(Machine *machine, const MachineAccess *access, uint64_t value, uint64_t step,
                   uint32_t inst);

/* Writes what was read: relative block and place within the rectangle are kept.
 * Otherwise as machine_write(). */
bool machine_write_segments(Machine *machine, const MachineAccess *access, const Segments *segments,
                            Region source_rect, uint64_t step, uint32_t inst);

/* The pieces of a segment, cut to `rect` and moved to where `target` begins; their `blocks` hold
 * the whole shift. Replaces what `out` held. */
void segment_pieces(Machine *machine, const Extent *segment, Region rect, Region target,
                    Pieces *out);

/* The contents of a segment, cut to `rect` and moved to where `target` begins; as they are where it
 * begins there already. Holds a reference. */
Contents segment_moved(Machine *machine, const Extent *segment, Region rect, Region target);

/* The value last written to the first corner of `rect`, whoever has its storage by now. */
uint64_t machine_kept(const Machine *machine, uint32_t tensor, int64_t block, Region rect);

/* True if two accesses touch a common granule of the State Buffer. */
bool accesses_meet(const Machine *machine, const MachineAccess *a, const MachineAccess *b);

#endif
