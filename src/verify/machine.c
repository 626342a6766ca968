#include "verify/machine.h"

#include "support/checked.h"

/* Block numbers may be anything: differences wrap, and are compared for equality only. */
static int64_t wrap_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_sub(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static const Tensor *tensor_of(const Machine *machine, uint32_t tensor) {
    return &machine->func->tensors[tensor];
}

static Region block_region(const Tensor *tensor) {
    return (Region){0, tensor->partitions, 0, tensor->bytes};
}

static bool shares_buffer(const Machine *machine, const Tensor *tensor) {
    return machine->placed && tensor->space == SPACE_SB && tensor->at;
}

/* Input tensors with an `at` share the spill area in the original too: that is how it was meant.
 * Its homes (in a file that was allocated before) do not: they must not disturb each other. */
static bool shares_area(const Machine *machine, const Tensor *tensor) {
    if (tensor->space != SPACE_DRAM || tensor->offset < 0) return false;
    return machine->is_result || !meta_find(tensor->meta, "of");
}

void machine_init(Machine *machine, const Func *func, Storage *storage, bool placed,
                  bool is_result) {
    *machine =
        (Machine){.func = func, .storage = storage, .placed = placed, .is_result = is_result};
    machine->stores = NEW_ARRAY(storage->arena, Store, func->ntensors);
    if (!placed) return;
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < func->ntensors; i++) {
        machine->stores[i].first_block = blocks;
        if (func->tensors[i].space == SPACE_SB) blocks += (uint64_t)func->tensors[i].blocks;
    }
    machine->used = NEW_ARRAY(storage->arena, uint64_t, blocks);
    machine->block_tensor = RAW_ARRAY(storage->arena, uint32_t, blocks);
    for (uint32_t i = 0; i < func->ntensors; i++)
        for (int64_t b = 0; func->tensors[i].space == SPACE_SB && b < func->tensors[i].blocks; b++)
            machine->block_tensor[machine->stores[i].first_block + (uint64_t)b] = i;
}

MachineAccess machine_all(const Machine *machine, uint32_t tensor) {
    const Tensor *t = tensor_of(machine, tensor);
    return (MachineAccess){tensor, 0, t->blocks, block_region(t), true};
}

MachineAccess machine_resolve(const Machine *machine, const Operand *operand,
                              const int64_t *indices) {
    MachineAccess access = machine_all(machine, operand->tensor);
    const Blocks *blocks = operand->blocks;
    if (blocks && blocks->kind != BLOCKS_ALL) {
        access.low = affine_value(blocks->low, indices);
        int64_t high = blocks->kind == BLOCKS_ONE ? saturating_add(access.low, 1)
                                                  : affine_value(blocks->high, indices);
        access.count = high > access.low ? saturating_sub(high, access.low) : 0;
    }
    if (operand->region) {
        access.whole = region_covers(*operand->region, access.rect);
        access.rect = *operand->region;
    }
    return access;
}

bool access_strays(const Machine *machine, const MachineAccess *access, int64_t *block) {
    int64_t blocks = tensor_of(machine, access->tensor)->blocks;
    if (access->count == 0 || (access->low >= 0 && access->low <= blocks - access->count))
        return false;
    *block = access->low < 0 || access->low > blocks ? access->low : blocks;
    return true;
}

/* --- Ownership --- */

static void push_loss(Machine *machine, Loss loss) {
    PUSH(machine->storage->arena, machine->losses, machine->nlosses, machine->losses_capacity,
         loss);
}

/* The quadrants that a rectangle of a block touches: it may be less than the block's band. */
static uint8_t quadrants_of(Place place, Region rect) {
    int64_t first = (place.partition + rect.p0) / QUADRANT_PARTITIONS;
    int64_t last = (place.partition + rect.p1 - 1) / QUADRANT_PARTITIONS;
    return (uint8_t)((2 << last) - (1 << first));
}

/* The granules that bytes [b0, b1) of a row that starts at `byte` touch, as [low, high). */
typedef struct {
    int64_t low, high;
} Granules;

static Granules granules_of(int64_t byte, Region rect) {
    return (Granules){(byte + rect.b0) / GRANULE, (byte + rect.b1 - 1) / GRANULE + 1};
}

static uint32_t writer_of(const Extent *extent) {
    return (uint32_t)extent->contents.shift;
}

/* The part of a block that lies in granules [low, high) of a quadrant. */
static Region part_of_block(const Tensor *tensor, Place place, int quadrant, int64_t low,
                            int64_t high) {
    Region part = {(int64_t)quadrant * QUADRANT_PARTITIONS - place.partition,
                   (int64_t)(quadrant + 1) * QUADRANT_PARTITIONS - place.partition,
                   low * GRANULE - place.byte, high * GRANULE - place.byte};
    regions_meet(part, block_region(tensor), &part);
    return part;
}

/* What a block contains, seen from its own number. */
static Extent block_contents(const Machine *machine, uint32_t number, int64_t block) {
    int64_t end;
    Contents contents = extents_stretch(&machine->stores[number].contents, block, block + 1, &end);
    contents.shift = wrap_sub(contents.shift, block);
    return (Extent){0, 1, contents};
}

/* True if in `part` of a block, whose storage the block `owner` has, there lies what was there when
 * it was taken: the two ends of an elided copy, for one. */
static bool still_holds(Machine *machine, const MachineAccess *mine, int64_t block, Region part,
                        uint64_t owner) {
    const Tensor *tensor = tensor_of(machine, mine->tensor);
    uint32_t number = machine->block_tensor[owner - 1];
    int64_t other = (int64_t)(owner - 1 - machine->stores[number].first_block);
    Place from = tensor->at[block], to = tensor_of(machine, number)->at[other];
    Extent wanted = block_contents(machine, mine->tensor, block);
    Extent actual = block_contents(machine, number, other);
    if (wanted.contents.value == NO_VALUE || actual.contents.value == NO_VALUE) return false;
    int64_t down = to.partition - from.partition, right = to.byte - from.byte;
    Region theirs = {part.p0 - down, part.p1 - down, part.b0 - right, part.b1 - right};
    Contents seen = segment_moved(machine, &actual, theirs, part);
    Difference difference;
    bool agree =
        contents_agree(&machine->storage->planes, wanted.contents, seen, part, &difference);
    contents_drop(&machine->storage->planes, seen);
    return agree;
}

static void block_losses(Machine *machine, const MachineAccess *access, int64_t block) {
    const Tensor *tensor = tensor_of(machine, access->tensor);
    uint64_t me = machine->stores[access->tensor].first_block + (uint64_t)block + 1;
    Place place = tensor->at[block];
    Granules granules = granules_of(place.byte, access->rect);
    uint8_t mask = quadrants_of(place, access->rect);
    for (int q = 0; q < QUADRANTS; q++) {
        if (!(mask & 1 << q)) continue;
        ExtentCursor at = extents_seek(&machine->quadrants[q], granules.low);
        for (const Extent *e; (e = extents_at(at)) && e->low < granules.high; extents_next(&at)) {
            uint64_t owner = e->contents.value;
            if (owner == me) continue;
            Region lost = part_of_block(tensor, place, q, e->low, e->high), read;
            if (regions_meet(lost, access->rect, &read) &&
                still_holds(machine, access, block, read, owner)) {
                machine->sharing = machine->reading;
                continue;
            }
            uint32_t taker = machine->block_tensor[owner - 1];
            int64_t other = (int64_t)(owner - 1 - machine->stores[taker].first_block);
            push_loss(machine, (Loss){block, block + 1, lost, taker, other, writer_of(e)});
        }
    }
}

/* The bytes of the spill area from the first to the last of blocks [low, high) that `rect` names,
 * rows between included. */
static Granules area_of(const Tensor *tensor, int64_t low, int64_t high, Region rect) {
    int64_t size = tensor->partitions * tensor->bytes;
    return (Granules){tensor->offset + low * size + rect.p0 * tensor->bytes + rect.b0,
                      tensor->offset + (high - 1) * size + (rect.p1 - 1) * tensor->bytes + rect.b1};
}

/* Bytes [from, to) of one block, rows one behind another, are up to three rectangles. */
static void row_losses(Machine *machine, const Tensor *tensor, Loss loss, int64_t from,
                       int64_t to) {
    int64_t first = from / tensor->bytes, last = to / tensor->bytes;
    int64_t head = from % tensor->bytes, tail = to % tensor->bytes;
    if (first == last) {
        loss.rect = (Region){first, first + 1, head, tail};
        push_loss(machine, loss);
        return;
    }
    if (head > 0) {
        loss.rect = (Region){first, first + 1, head, tensor->bytes};
        push_loss(machine, loss);
        first++;
    }
    loss.rect = (Region){first, last, 0, tensor->bytes};
    if (first < last) push_loss(machine, loss);
    loss.rect = (Region){last, last + 1, 0, tail};
    if (tail > 0) push_loss(machine, loss);
}

/* Bytes [from, to) of a tensor: the end of a block, whole blocks, the start of another. */
static void byte_losses(Machine *machine, const Tensor *tensor, Loss loss, int64_t from,
                        int64_t to) {
    int64_t size = tensor->partitions * tensor->bytes;
    int64_t first = from / size, last = to / size, head = from % size, tail = to % size;
    if (first == last) {
        loss.low = first;
        loss.high = first + 1;
        row_losses(machine, tensor, loss, head, tail);
        return;
    }
    if (head > 0) {
        loss.low = first++;
        loss.high = first;
        row_losses(machine, tensor, loss, head, size);
    }
    loss.low = first;
    loss.high = last;
    loss.rect = block_region(tensor);
    if (first < last) push_loss(machine, loss);
    loss.low = last;
    loss.high = last + 1;
    if (tail > 0) row_losses(machine, tensor, loss, 0, tail);
}

static void area_losses(Machine *machine, uint32_t number, int64_t low, int64_t high, Region rect) {
    const Tensor *tensor = tensor_of(machine, number);
    Granules bytes = area_of(tensor, low, high, rect);
    ExtentCursor at = extents_seek(&machine->area, bytes.low);
    for (const Extent *e; (e = extents_at(at)) && e->low < bytes.high; extents_next(&at)) {
        if (e->contents.value == (uint64_t)number + 1) continue;
        int64_t from = e->low > bytes.low ? e->low : bytes.low;
        int64_t to = e->high < bytes.high ? e->high : bytes.high;
        Loss loss = {0, 0, rect, (uint32_t)(e->contents.value - 1), 0, writer_of(e)};
        byte_losses(machine, tensor, loss, from - tensor->offset, to - tensor->offset);
    }
}

void machine_losses(Machine *machine, const MachineAccess *access) {
    machine->nlosses = 0;
    if (access->count == 0) return;
    const Tensor *tensor = tensor_of(machine, access->tensor);
    int64_t low = access->low, high = access->low + access->count;
    if (shares_buffer(machine, tensor))
        for (int64_t b = low; b < high; b++)
            block_losses(machine, access, b);
    else if (shares_area(machine, tensor))
        area_losses(machine, access->tensor, low, high, access->rect);
}

/* --- Contents --- */

/* Lays `count` pieces (with whole shifts) into `rect` of blocks [low, high). */
static void overlay(Machine *machine, Extents *map, Region block, int64_t low, int64_t high,
                    Region rect, const PlanePiece *pieces, uint32_t count) {
    Storage *storage = machine->storage;
    for (int64_t at = low, end; at < high; at = end) {
        Contents old = extents_stretch(map, at, high, &end);
        if (old.value == NO_VALUE && count == 0) continue;
        contents_keep(&storage->planes, old);
        Contents fresh = contents_overlay(&storage->planes, old, block, rect, pieces, count);
        extents_assign(map, &storage->extents, at, end, fresh);
    }
}

static void push_segment(Machine *machine, Segments *out, Extent segment) {
    contents_keep(&machine->storage->planes, segment.contents);
    PUSH(machine->storage->arena, out->items, out->count, out->capacity, segment);
}

static void push_stretch(Machine *machine, const Extents *map, int64_t low, int64_t high,
                         int64_t base, Segments *out) {
    ExtentCursor at = extents_seek(map, low);
    for (const Extent *e; (e = extents_at(at)) && e->low < high; extents_next(&at)) {
        if (e->contents.value == NO_VALUE) continue;
        int64_t from = e->low > low ? e->low : low, to = e->high < high ? e->high : high;
        Contents contents = {e->contents.value, wrap_sub(e->contents.shift, base)};
        push_segment(machine, out, (Extent){from - base, to - base, contents});
    }
}

/* The same where storage was lost: on a copy of the map, with the losses cut out. */
static void push_without_losses(Machine *machine, const MachineAccess *access, Segments *out) {
    Storage *storage = machine->storage;
    Extents copy = {0};
    int64_t low = access->low, high = access->low + access->count;
    ExtentCursor at = extents_seek(&machine->stores[access->tensor].contents, low);
    for (const Extent *e; (e = extents_at(at)) && e->low < high; extents_next(&at)) {
        contents_keep(&storage->planes, e->contents);
        extents_assign(&copy, &storage->extents, e->low > low ? e->low : low,
                       e->high < high ? e->high : high, e->contents);
    }
    Region block = block_region(tensor_of(machine, access->tensor));
    for (size_t i = 0; i < machine->nlosses; i++) {
        Loss loss = machine->losses[i];
        overlay(machine, &copy, block, loss.low, loss.high, loss.rect, NULL, 0);
    }
    push_stretch(machine, &copy, low, high, access->low, out);
    extents_clear(&copy, &storage->extents);
}

void machine_read(Machine *machine, const MachineAccess *access, uint64_t step, Segments *out) {
    if (access->count == 0) return;
    int64_t low = access->low, high = access->low + access->count;
    const Store *store = &machine->stores[access->tensor];
    if (step && shares_buffer(machine, tensor_of(machine, access->tensor)))
        for (int64_t b = low; b < high; b++)
            machine->used[store->first_block + (uint64_t)b] = step;
    machine->reading = step;
    machine_losses(machine, access);
    if (machine->nlosses > 0)
        push_without_losses(machine, access, out);
    else
        push_stretch(machine, &store->contents, low, high, access->low, out);
}

void segments_drop(Machine *machine, Segments *segments) {
    for (size_t i = 0; i < segments->count; i++)
        contents_drop(&machine->storage->planes, segments->items[i].contents);
    segments->count = 0;
}

/* --- Writing --- */

/* Takes the granules of one block's rectangle. What the block itself had there, if others had taken
 * it meanwhile and it does not lie there any more, is gone. */
static void take_block(Machine *machine, const MachineAccess *access, int64_t block, uint64_t step,
                       uint32_t inst, bool *clash) {
    const Tensor *tensor = tensor_of(machine, access->tensor);
    Store *store = &machine->stores[access->tensor];
    uint64_t me = store->first_block + (uint64_t)block + 1;
    Place place = tensor->at[block];
    Granules granules = granules_of(place.byte, access->rect);
    uint8_t mask = quadrants_of(place, access->rect);
    for (int q = 0; q < QUADRANTS; q++) {
        if (!(mask & 1 << q)) continue;
        ExtentCursor at = extents_seek(&machine->quadrants[q], granules.low);
        for (const Extent *e; (e = extents_at(at)) && e->low < granules.high; extents_next(&at)) {
            uint64_t owner = e->contents.value;
            if (machine->sharing == step) *clash = true;
            if (owner == me) continue;
            if (machine->used[owner - 1] == step) *clash = true;
            if (access->whole) continue;
            int64_t low = e->low > granules.low ? e->low : granules.low;
            int64_t high = e->high < granules.high ? e->high : granules.high;
            Region lost = part_of_block(tensor, place, q, low, high);
            if (still_holds(machine, access, block, lost, owner)) continue;
            overlay(machine, &store->contents, block_region(tensor), block, block + 1, lost, NULL,
                    0);
        }
        extents_assign(&machine->quadrants[q], &machine->storage->extents, granules.low,
                       granules.high, (Contents){me, inst});
    }
    machine->used[me - 1] = step;
}

static void take_area(Machine *machine, const MachineAccess *access, uint32_t inst) {
    const Tensor *tensor = tensor_of(machine, access->tensor);
    int64_t low = access->low, high = access->low + access->count;
    if (!access->whole) {
        machine->nlosses = 0;
        area_losses(machine, access->tensor, low, high, access->rect);
        for (size_t i = 0; i < machine->nlosses; i++)
            overlay(machine, &machine->stores[access->tensor].contents, block_region(tensor),
                    machine->losses[i].low, machine->losses[i].high, machine->losses[i].rect, NULL,
                    0);
    }
    Granules bytes = area_of(tensor, low, high, access->rect);
    extents_assign(&machine->area, &machine->storage->extents, bytes.low, bytes.high,
                   (Contents){(uint64_t)access->tensor + 1, inst});
}

static bool take(Machine *machine, const MachineAccess *access, uint64_t step, uint32_t inst) {
    const Tensor *tensor = tensor_of(machine, access->tensor);
    bool clash = false;
    if (access->count == 0) return clash;
    if (shares_buffer(machine, tensor))
        for (int64_t r = 0; r < access->count; r++)
            take_block(machine, access, access->low + r, step, inst, &clash);
    else if (shares_area(machine, tensor))
        take_area(machine, access, inst);
    return clash;
}

bool machine_write(Machine *machine, const MachineAccess *access, uint64_t value, uint64_t step,
                   uint32_t inst) {
    bool clash = take(machine, access, step, inst);
    if (access->count == 0) return clash;
    int64_t low = access->low, high = access->low + access->count;
    Extents *map = &machine->stores[access->tensor].contents;
    if (access->whole) {
        extents_assign(map, &machine->storage->extents, low, high, (Contents){value, access->low});
        return clash;
    }
    PlanePiece piece = {access->rect, value, access->low, access->rect.p0, access->rect.b0};
    overlay(machine, map, block_region(tensor_of(machine, access->tensor)), low, high, access->rect,
            &piece, 1);
    return clash;
}

void segment_pieces(Machine *machine, const Extent *segment, Region rect, Region target,
                    Pieces *out) {
    PlanePiece plain;
    uint32_t count;
    const PlanePiece *pieces =
        contents_pieces(&machine->storage->planes, segment->contents, &plain, &count);
    int64_t down = wrap_sub(target.p0, rect.p0), right = wrap_sub(target.b0, rect.b0);
    out->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        PlanePiece piece = pieces[i];
        if (!regions_meet(piece.rect, rect, &piece.rect)) continue;
        piece.rect = (Region){piece.rect.p0 + down, piece.rect.p1 + down, piece.rect.b0 + right,
                              piece.rect.b1 + right};
        piece.partitions += down;
        piece.bytes += right;
        piece.blocks = wrap_add(piece.blocks, segment->contents.shift);
        PUSH(machine->storage->arena, out->items, out->count, out->capacity, piece);
    }
}

Contents segment_moved(Machine *machine, const Extent *segment, Region rect, Region target) {
    PlanePool *planes = &machine->storage->planes;
    if (rect.p0 == target.p0 && rect.b0 == target.b0) {
        contents_keep(planes, segment->contents);
        return segment->contents;
    }
    Pieces *pieces = &machine->storage->scratch;
    segment_pieces(machine, segment, rect, target, pieces);
    return contents_overlay(planes, (Contents){NO_VALUE, 0}, ANYWHERE, ANYWHERE, pieces->items,
                            (uint32_t)pieces->count);
}

/* Lays one segment, or nothing where it is NULL, into relative blocks [from, to). */
static void write_segment(Machine *machine, const MachineAccess *access, const Extent *segment,
                          Region source_rect, bool source_whole, int64_t from, int64_t to) {
    Extents *map = &machine->stores[access->tensor].contents;
    int64_t low = access->low + from, high = access->low + to;
    if (access->whole && source_whole) {
        Contents contents = segment ? segment->contents : (Contents){NO_VALUE, 0};
        contents.shift = wrap_add(contents.shift, access->low);
        contents_keep(&machine->storage->planes, contents);
        extents_assign(map, &machine->storage->extents, low, high, contents);
        return;
    }
    Pieces *pieces = &machine->storage->scratch;
    pieces->count = 0;
    if (segment) segment_pieces(machine, segment, source_rect, access->rect, pieces);
    for (size_t i = 0; i < pieces->count; i++)
        pieces->items[i].blocks = wrap_add(pieces->items[i].blocks, access->low);
    Region block = block_region(tensor_of(machine, access->tensor));
    /* Also where the pieces do not fill the rectangle: what lay there is gone. */
    overlay(machine, map, block, low, high, access->rect, pieces->items, (uint32_t)pieces->count);
}

bool machine_write_segments(Machine *machine, const MachineAccess *access, const Segments *segments,
                            Region source_rect, uint64_t step, uint32_t inst) {
    bool clash = take(machine, access, step, inst);
    bool source_whole = source_rect.p0 == 0 && source_rect.b0 == 0;
    int64_t at = 0;
    for (size_t i = 0; i < segments->count && at < access->count; i++) {
        const Extent *segment = &segments->items[i];
        int64_t from = segment->low > at ? segment->low : at;
        int64_t to = segment->high < access->count ? segment->high : access->count;
        if (from >= to) continue;
        if (at < from) write_segment(machine, access, NULL, source_rect, source_whole, at, from);
        write_segment(machine, access, segment, source_rect, source_whole, from, to);
        at = to;
    }
    if (at < access->count)
        write_segment(machine, access, NULL, source_rect, source_whole, at, access->count);
    return clash;
}

uint64_t machine_kept(const Machine *machine, uint32_t tensor, int64_t block, Region rect) {
    int64_t end;
    Contents contents = extents_stretch(&machine->stores[tensor].contents, block, block + 1, &end);
    return contents_value(&machine->storage->planes, contents, rect.p0, rect.b0);
}

static bool block_ranges_meet(const Machine *machine, const MachineAccess *a, int64_t i,
                              const MachineAccess *b, int64_t j) {
    Place p = tensor_of(machine, a->tensor)->at[i], q = tensor_of(machine, b->tensor)->at[j];
    Granules g = granules_of(p.byte, a->rect), h = granules_of(q.byte, b->rect);
    return g.low < h.high && h.low < g.high &&
           (quadrants_of(p, a->rect) & quadrants_of(q, b->rect));
}

bool accesses_meet(const Machine *machine, const MachineAccess *a, const MachineAccess *b) {
    if (!shares_buffer(machine, tensor_of(machine, a->tensor)) ||
        !shares_buffer(machine, tensor_of(machine, b->tensor)))
        return false;
    for (int64_t i = a->low; i < a->low + a->count; i++)
        for (int64_t j = b->low; j < b->low + b->count; j++)
            if (!(a->tensor == b->tensor && i == j) && block_ranges_meet(machine, a, i, b, j))
                return true;
    return false;
}
