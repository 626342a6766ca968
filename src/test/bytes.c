#include "test/bytes.h"

#include <string.h>

#include "support/checked.h"
#include "test/run.h"

#define NOBODY UINT32_MAX

/* Values of entry, and of transfers between different forms, are nobody else's: instructions make
 * theirs from the number of the step. */
#define SEED_ENTRY UINT64_MAX
#define SEED_TRANSFER (UINT64_MAX - 1)

/* One side. A byte's value is a hash of what made it; 0: undefined. */
typedef struct {
    const Func *func;
    Arena *arena;
    bool shared;    /* sb tensors lie in the State Buffer, homes in the spill area */
    uint64_t **own; /* [ntensors] bytes of tensors that have memory of their own; of those in the
                       State Buffer what was last put there */
    uint64_t *sb;   /* [128 * row] */
    uint32_t *granules; /* [4 * row / 8] block number of the owner */
    int64_t row;
    uint64_t *area;       /* [area_size] */
    uint32_t *area_owner; /* [area_size] tensor */
    int64_t area_size;
    uint32_t *first_block; /* [ntensors] */
} Memory;

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t z = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) | 1;
}

static bool in_buffer(const Memory *memory, uint32_t tensor) {
    const Tensor *t = &memory->func->tensors[tensor];
    return memory->shared && t->space == SPACE_SB && t->at;
}

static bool in_area(const Memory *memory, uint32_t tensor) {
    const Tensor *t = &memory->func->tensors[tensor];
    if (t->space != SPACE_DRAM || t->offset < 0) return false;
    return memory->shared || !meta_find(t->meta, "of");
}

static int64_t size_of(const Tensor *tensor) {
    return tensor->blocks * tensor->partitions * tensor->bytes;
}

static Memory memory_begin(const Func *func, bool shared, const Target *target, Arena *arena) {
    Memory memory = {.func = func, .arena = arena, .shared = shared};
    memory.own = NEW_ARRAY(arena, uint64_t *, func->ntensors);
    memory.first_block = NEW_ARRAY(arena, uint32_t, func->ntensors);
    memory.row = round_up(target_usable(target), GRANULE);
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < func->ntensors; i++) {
        const Tensor *t = &func->tensors[i];
        memory.first_block[i] = blocks;
        blocks += (uint32_t)t->blocks;
        if (in_area(&memory, i)) {
            int64_t end = t->offset + size_of(t);
            if (end > memory.area_size) memory.area_size = end;
        } else {
            memory.own[i] = NEW_ARRAY(arena, uint64_t, size_of(t));
        }
    }
    memory.area = NEW_ARRAY(arena, uint64_t, memory.area_size);
    memory.area_owner = RAW_ARRAY(arena, uint32_t, memory.area_size);
    if (memory.area_size) memset(memory.area_owner, 0xFF, (size_t)memory.area_size * 4);
    if (!shared) return memory;
    memory.sb = NEW_ARRAY(arena, uint64_t, PARTITIONS * memory.row);
    memory.granules = RAW_ARRAY(arena, uint32_t, QUADRANTS * memory.row / GRANULE);
    memset(memory.granules, 0xFF, (size_t)(QUADRANTS * memory.row / GRANULE) * 4);
    return memory;
}

/* One byte of an operand. */
typedef struct {
    uint32_t tensor;
    int64_t block, partition, byte;
} Byte;

static int64_t flat(const Tensor *tensor, Byte at) {
    return (at.block * tensor->partitions + at.partition) * tensor->bytes + at.byte;
}

static uint32_t *granule_of(const Memory *memory, Byte at) {
    Place place = memory->func->tensors[at.tensor].at[at.block];
    return &memory->granules[(place.partition + at.partition) / QUADRANT_PARTITIONS *
                                 (memory->row / GRANULE) +
                             (place.byte + at.byte) / GRANULE];
}

static uint64_t *sb_byte(const Memory *memory, Byte at) {
    Place place = memory->func->tensors[at.tensor].at[at.block];
    return &memory->sb[(place.partition + at.partition) * memory->row + place.byte + at.byte];
}

static uint32_t block_number(const Memory *memory, Byte at) {
    return memory->first_block[at.tensor] + (uint32_t)at.block;
}

/* True if nobody has taken the granule, or put there what was there before. */
static bool still_holds(const Memory *memory, Byte at) {
    uint64_t kept = memory->own[at.tensor][flat(&memory->func->tensors[at.tensor], at)];
    return *granule_of(memory, at) == block_number(memory, at) || *sb_byte(memory, at) == kept;
}

static uint64_t get(const Memory *memory, Byte at) {
    const Tensor *tensor = &memory->func->tensors[at.tensor];
    if (in_buffer(memory, at.tensor)) return still_holds(memory, at) ? *sb_byte(memory, at) : 0;
    if (!in_area(memory, at.tensor)) return memory->own[at.tensor][flat(tensor, at)];
    int64_t offset = tensor->offset + flat(tensor, at);
    return memory->area_owner[offset] == at.tensor ? memory->area[offset] : 0;
}

/* What the block has at a place of the State Buffer, 0 if that is none of its own or another lies
 * there now. */
static uint64_t kept_at(const Memory *memory, Byte block, int64_t partition, int64_t byte) {
    const Tensor *tensor = &memory->func->tensors[block.tensor];
    Place place = tensor->at[block.block];
    block.partition = partition - place.partition;
    block.byte = byte - place.byte;
    bool inside = block.partition >= 0 && block.partition < tensor->partitions && block.byte >= 0 &&
                  block.byte < tensor->bytes;
    return inside ? get(memory, block) : 0;
}

/* Takes a granule of a quadrant: whatever its 32 rows held is gone, but for what the block itself
 * has there. */
static void take_granule(Memory *memory, Byte at) {
    uint32_t *owner = granule_of(memory, at);
    if (*owner == block_number(memory, at)) return;
    Place place = memory->func->tensors[at.tensor].at[at.block];
    int64_t row = (place.partition + at.partition) / QUADRANT_PARTITIONS * QUADRANT_PARTITIONS;
    int64_t byte = (place.byte + at.byte) / GRANULE * GRANULE;
    for (int64_t p = row; p < row + QUADRANT_PARTITIONS; p++)
        for (int64_t b = byte; b < byte + GRANULE; b++)
            memory->sb[p * memory->row + b] = kept_at(memory, at, p, b);
    *owner = block_number(memory, at);
}

static void put(Memory *memory, Byte at, uint64_t value) {
    const Tensor *tensor = &memory->func->tensors[at.tensor];
    if (in_buffer(memory, at.tensor)) {
        take_granule(memory, at);
        *sb_byte(memory, at) = memory->own[at.tensor][flat(tensor, at)] = value;
    } else if (in_area(memory, at.tensor)) {
        memory->area[tensor->offset + flat(tensor, at)] = value;
        memory->area_owner[tensor->offset + flat(tensor, at)] = at.tensor;
    } else {
        memory->own[at.tensor][flat(tensor, at)] = value;
    }
}

/* The bytes that an operand names now, one after another. */
typedef struct {
    uint32_t tensor;
    int64_t low, count, blocks;
    Region rect;
} Named;

static Named name_bytes(const Func *func, const Operand *operand, const int64_t *indices) {
    const Tensor *tensor = &func->tensors[operand->tensor];
    Named named = {operand->tensor,
                   0,
                   tensor->blocks,
                   tensor->blocks,
                   {0, tensor->partitions, 0, tensor->bytes}};
    if (operand->region) named.rect = *operand->region;
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) return named;
    named.low = affine_value(blocks->low, indices);
    named.count = blocks->kind == BLOCKS_ONE ? 1 : affine_value(blocks->high, indices) - named.low;
    if (named.count < 0) named.count = 0;
    return named;
}

static int64_t width_of(const Named *named) {
    return named->rect.b1 - named->rect.b0;
}

static int64_t area_of(const Named *named) {
    return (named->rect.p1 - named->rect.p0) * width_of(named);
}

static int64_t length_of(const Named *named) {
    return named->count * area_of(named);
}

static bool strays(const Named *named) {
    return named->count > 0 && (named->low < 0 || named->low + named->count > named->blocks);
}

static Byte byte_at(const Named *named, int64_t i) {
    int64_t within = i % area_of(named);
    return (Byte){named->tensor, named->low + i / area_of(named),
                  named->rect.p0 + within / width_of(named),
                  named->rect.b0 + within % width_of(named)};
}

static uint64_t *read_bytes(const Memory *memory, const Named *named) {
    uint64_t *values = NEW_ARRAY(memory->arena, uint64_t, length_of(named));
    for (int64_t i = 0; i < length_of(named); i++)
        values[i] = get(memory, byte_at(named, i));
    return values;
}

static void write_bytes(Memory *memory, const Named *named, const uint64_t *values) {
    for (int64_t i = 0; i < length_of(named); i++)
        put(memory, byte_at(named, i), values[i]);
}

/* --- Instructions --- */

static bool is_transfer(const Inst *inst) {
    return inst->kind != OP_OTHER && !inst->accumulate && inst->ndst == 1 && inst->nsrc == 1;
}

static bool is_elided(const Memory *memory, const Inst *inst) {
    return memory->shared && inst->kind == OP_COPY && is_transfer(inst) &&
           meta_find(inst->meta, "elided");
}

static bool same_extent(const Named *a, const Named *b) {
    return a->count == b->count && width_of(a) == width_of(b) && area_of(a) == area_of(b);
}

/* What the destination `d` gets: what was read, or something new that depends on `seed`. */
static uint64_t *result_bytes(const Memory *memory, const Inst *inst, const Named *named,
                              uint64_t *const *read, uint32_t d, uint64_t seed) {
    if (is_transfer(inst) && same_extent(&named[0], &named[1])) return read[1];
    if (is_transfer(inst)) {
        seed = SEED_TRANSFER;
        for (int64_t i = 0; i < length_of(&named[1]); i++)
            seed = mix(seed, read[1][i]);
    }
    uint64_t *values = NEW_ARRAY(memory->arena, uint64_t, length_of(&named[d]));
    for (int64_t i = 0; i < length_of(&named[d]); i++)
        values[i] = mix(mix(seed, d), (uint64_t)i);
    return values;
}

/* True if destination d lies over a granule where another operand, read before or written just
 * now, has something. */
static bool lies_over(const Memory *memory, const Inst *inst, const Named *named, uint32_t d) {
    Byte at;
    if (!in_buffer(memory, named[d].tensor)) return false;
    /* The block that uses a granule, plus 1; NOBODY: several do. */
    uint32_t *used = NEW_ARRAY(memory->arena, uint32_t, QUADRANTS * memory->row / GRANULE);
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
        bool counts = o >= inst->ndst ? !is_elided(memory, inst) : o < d;
        if (o == d || !counts || !in_buffer(memory, named[o].tensor)) continue;
        for (int64_t i = 0; i < length_of(&named[o]); i++) {
            at = byte_at(&named[o], i);
            uint32_t number = block_number(memory, at);
            uint32_t *user = &used[granule_of(memory, at) - memory->granules];
            if (*granule_of(memory, at) == number || get(memory, at) != 0)
                *user = *user == 0 || *user == number + 1 ? number + 1 : NOBODY;
        }
    }
    /* Blocks of the destination must not lie over each other either. */
    uint32_t *mine = NEW_ARRAY(memory->arena, uint32_t, QUADRANTS * memory->row / GRANULE);
    for (int64_t i = 0; i < length_of(&named[d]); i++) {
        at = byte_at(&named[d], i);
        int64_t granule = granule_of(memory, at) - memory->granules;
        uint32_t number = block_number(memory, at);
        if (used[granule] && used[granule] != number + 1) return true;
        if (mine[granule] != 0 && mine[granule] != number + 1) return true;
        mine[granule] = number + 1;
    }
    return false;
}

/* An elided copy's bytes stay where they are: its ends must be one place. */
static bool lies_apart(const Memory *memory, const Inst *inst, const Named *named) {
    if (!is_elided(memory, inst)) return false;
    if (!in_buffer(memory, named[0].tensor) || !in_buffer(memory, named[1].tensor)) return false;
    for (int64_t i = 0; i < length_of(&named[0]); i++)
        if (sb_byte(memory, byte_at(&named[0], i)) != sb_byte(memory, byte_at(&named[1], i)))
            return true;
    return false;
}

typedef struct {
    const Inst *inst;
    Named *named;    /* [ndst + nsrc] */
    uint64_t **read; /* [ndst + nsrc] */
    bool strays;     /* some index leaves its tensor: nothing is read */
} Execution;

static Execution begin(const Memory *memory, const Stepper *run) {
    const Inst *inst = &memory->func->insts[run->point];
    uint32_t count = inst->ndst + inst->nsrc;
    Execution execution = {inst, NEW_ARRAY(memory->arena, Named, count),
                           NEW_ARRAY(memory->arena, uint64_t *, count), false};
    for (uint32_t i = 0; i < count; i++) {
        execution.named[i] = name_bytes(memory->func, &inst->operands[i], run->indices);
        execution.strays |= strays(&execution.named[i]);
    }
    for (uint32_t i = 0; i < count && !execution.strays; i++) {
        if (i >= inst->ndst || inst->accumulate)
            execution.read[i] = read_bytes(memory, &execution.named[i]);
    }
    return execution;
}

/* True if the operand names bytes of something that should lie somewhere and does not. */
static bool lies_nowhere(const Memory *memory, const Named *named) {
    const Tensor *tensor = &memory->func->tensors[named->tensor];
    bool home = tensor->space == SPACE_DRAM && meta_find(tensor->meta, "of");
    if (!memory->shared || in_buffer(memory, named->tensor) || in_area(memory, named->tensor))
        return false;
    return length_of(named) > 0 && (tensor->space == SPACE_SB || home);
}

/* `source`: whose reading decides what is written. False where destinations lie wrongly. */
static bool finish(Memory *memory, const Execution *execution, const Execution *source,
                   uint64_t seed) {
    const Inst *inst = execution->inst;
    if (execution->strays) return false;
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++)
        if (lies_nowhere(memory, &execution->named[i])) return false;
    if (lies_apart(memory, inst, execution->named)) return false;
    for (uint32_t d = 0; d < inst->ndst; d++) {
        if (lies_over(memory, inst, execution->named, d)) return false;
        write_bytes(memory, &execution->named[d],
                    result_bytes(memory, inst, source->named, source->read, d, seed));
    }
    return true;
}

/* What the original has, undefined bytes apart, the result must have. */
static bool same_reading(const Execution *was, const Execution *is) {
    if (is->strays) return false;
    for (uint32_t i = 0; i < was->inst->ndst + was->inst->nsrc; i++) {
        if (was->named[i].count != is->named[i].count) return false;
        if (!was->read[i]) continue;
        for (int64_t j = 0; j < length_of(&was->named[i]); j++)
            if (was->read[i][j] && was->read[i][j] != is->read[i][j]) return false;
    }
    return true;
}

static bool same_outputs(const Memory *was, const Memory *is, const uint32_t *twin) {
    for (uint32_t t = 0; t < was->func->ntensors; t++) {
        const Tensor *tensor = &was->func->tensors[t];
        if (!tensor->output) continue;
        Named a = {t, 0, tensor->blocks, tensor->blocks, {0, tensor->partitions, 0, tensor->bytes}};
        Named b = a;
        b.tensor = twin[t];
        const uint64_t *wanted = read_bytes(was, &a), *had = read_bytes(is, &b);
        for (int64_t i = 0; i < length_of(&a); i++)
            if (wanted[i] && wanted[i] != had[i]) return false;
    }
    return true;
}

static void enter(Memory *was, Memory *is, const uint32_t *twin) {
    for (uint32_t t = 0; t < was->func->ntensors; t++) {
        const Tensor *tensor = &was->func->tensors[t];
        if (!tensor->input) continue;
        Named a = {t, 0, tensor->blocks, tensor->blocks, {0, tensor->partitions, 0, tensor->bytes}};
        Named b = a;
        b.tensor = twin[t];
        uint64_t *values = NEW_ARRAY(was->arena, uint64_t, length_of(&a));
        for (int64_t i = 0; i < length_of(&a); i++)
            values[i] = mix(mix(SEED_ENTRY, t), (uint64_t)i);
        write_bytes(was, &a, values);
        write_bytes(is, &b, values);
    }
}

static uint32_t *twins(const Func *original, PairedResult result, Arena *arena) {
    uint32_t *twin = RAW_ARRAY(arena, uint32_t, original->ntensors);
    for (uint32_t t = 0; t < original->ntensors; t++)
        twin[t] = NOBODY;
    for (uint32_t t = 0; t < result.func->ntensors; t++)
        if (str_equal(result.func->tensors[t].name, original->tensors[result.of[t]].name))
            twin[result.of[t]] = t;
    return twin;
}

static bool run_both(Memory *was, Memory *is, PairedResult result, Arena *arena) {
    Stepper original = run_begin(was->func, arena), run = run_begin(is->func, arena);
    for (uint64_t step = 1; run_next(&run); step++) {
        uint32_t pair = result.pair[run.point];
        Execution mine;
        if (pair == UINT32_MAX) {
            if (!run_happens(&run)) continue;
            mine = begin(is, &run);
            if (!finish(is, &mine, &mine, 0)) return false;
            continue;
        }
        /* Loads that were dropped run on the original's side only. */
        while (run_next(&original) && original.point != pair)
            if (run_happens(&original)) {
                mine = begin(was, &original);
                finish(was, &mine, &mine, step);
            }
        if (original.point != pair) return false;
        if (!run_happens(&original) && !run_happens(&run)) continue;
        if (!run_happens(&original)) return false;
        Execution theirs = begin(was, &original);
        if (!run_happens(&run)) { /* a narrowed load */
            finish(was, &theirs, &theirs, step);
            continue;
        }
        mine = begin(is, &run);
        if (!same_reading(&theirs, &mine)) return false;
        finish(was, &theirs, &theirs, step);
        /* What is written follows the result's own reading where it hands values on. */
        bool reshapes = is_transfer(mine.inst) && !same_extent(&mine.named[0], &mine.named[1]);
        if (!finish(is, &mine, reshapes ? &theirs : &mine, step)) return false;
    }
    while (run_next(&original))
        if (run_happens(&original)) {
            Execution rest = begin(was, &original);
            finish(was, &rest, &rest, 0);
        }
    return true;
}

bool bytes_agree(const Func *original, PairedResult result, const Target *target, Arena *arena) {
    Memory was = memory_begin(original, false, target, arena);
    Memory is = memory_begin(result.func, true, target, arena);
    const uint32_t *twin = twins(original, result, arena);
    enter(&was, &is, twin);
    return run_both(&was, &is, result, arena) && same_outputs(&was, &is, twin);
}

int64_t bytes_work(const Func *func) {
    int64_t work = 0;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        int64_t bytes = 0;
        for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
            const Tensor *t = &func->tensors[inst->operands[i].tensor];
            int64_t size = saturating_mul(saturating_mul(t->blocks, t->partitions), t->bytes);
            bytes = saturating_add(bytes, size);
        }
        work = saturating_add(work, saturating_mul(bytes, loop_trips(func, inst->loop)));
    }
    return work;
}
