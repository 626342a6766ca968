#include "test/straight.h"

#include "ir/build.h"
#include "ir/geometry.h"
#include "support/checked.h"
#include "test/chance.h"
#include "test/make.h"

enum { TILE = 512 /* bytes of an equal tensor */ };

/* ---- random straight code ---- */

enum { FORMS = 8, MOST_READS = 3 };

/* Reads in order of the instruction that does them. */
typedef struct {
    uint32_t *first;   /* [count + 1] */
    uint32_t *tensors; /* tensor i is what instruction i defines */
} Reads;

static int64_t area(const Tensor *tensor) {
    int64_t quadrants = tensor->partitions <= 32 ? 1 : tensor->partitions <= 64 ? 2 : QUADRANTS;
    return ceil_div(tensor->bytes, GRANULE) * quadrants;
}

/* When each tensor is read: readers[MOST_READS * i], the last one first, 0 where there are fewer.
 * The last read comes after 1 to 2 * live - 1 instructions, so that `live` is the mean. */
static uint32_t *choose_readers(Arena *arena, uint32_t count, uint32_t live, Chance *chance) {
    uint32_t *readers = NEW_ARRAY(arena, uint32_t, (size_t)count * MOST_READS);
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint32_t longest = 2 * live - 1, rest = count - 1 - i;
        uint32_t life = (uint32_t)chance_between(chance, 1, longest < rest ? longest : rest);
        uint32_t *mine = readers + (size_t)i * MOST_READS;
        mine[0] = i + life;
        uint32_t others = (uint32_t)chance_below(chance, MOST_READS);
        for (uint32_t r = 1; r <= others; r++) {
            mine[r] = i + (uint32_t)chance_between(chance, 1, life);
            for (uint32_t s = 0; s < r; s++)
                if (mine[s] == mine[r]) mine[r] = 0;
        }
    }
    return readers;
}

static Reads sort_reads(Arena *arena, const uint32_t *readers, uint32_t count) {
    size_t all = (size_t)count * MOST_READS;
    Reads reads = {NEW_ARRAY(arena, uint32_t, (size_t)count + 1), NEW_ARRAY(arena, uint32_t, all)};
    for (size_t r = 0; r < all; r++)
        if (readers[r]) reads.first[readers[r] + 1]++;
    for (uint32_t i = 0; i < count; i++)
        reads.first[i + 1] += reads.first[i];
    uint32_t *next = RAW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        next[i] = reads.first[i];
    for (size_t r = 0; r < all; r++)
        if (readers[r]) reads.tensors[next[readers[r]]++] = (uint32_t)(r / MOST_READS);
    return reads;
}

/* The inputs X0 to X7; every value has the form of one of them. */
static void declare(Builder *builder, uint32_t *forms, uint32_t count, bool even, Chance *chance) {
    static const int64_t PARTITIONS_OF[FORMS] = {128, 128, 128, 128, 128, 64, 64, 32};
    for (uint32_t form = 0; form < FORMS; form++) {
        int64_t partitions = even ? PARTITIONS : PARTITIONS_OF[form];
        Tensor tensor = make_tensor(builder->arena, "X", form, SPACE_DRAM, partitions,
                                    chance_between(chance, 8, 256) * GRANULE);
        tensor.input = true;
        build_tensor(builder, tensor);
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        forms[i] = (uint32_t)chance_below(chance, FORMS);
        Tensor like = builder->func.tensors[forms[i]];
        build_tensor(builder,
                     make_tensor(builder->arena, "t", i, SPACE_SB, like.partitions, like.bytes));
    }
    Tensor result = make_tensor(builder->arena, "Y", 0, SPACE_DRAM, 128, GRANULE);
    result.output = true;
    build_tensor(builder, result);
}

/* The room that the code needs at its worst point, and that its greediest instruction needs. */
typedef struct {
    int64_t peak, operands; /* bytes per partition */
} Need;

static Need find_need(const Func *func, const uint32_t *readers, uint32_t count, Arena *arena) {
    int64_t *change = NEW_ARRAY(arena, int64_t, (size_t)count + 1);
    int64_t *operands = NEW_ARRAY(arena, int64_t, count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        const Tensor *tensor = &func->tensors[FORMS + i];
        change[i] += area(tensor);
        change[readers[(size_t)i * MOST_READS] + 1] -= area(tensor);
        operands[i] += tensor->bytes;
        for (uint32_t r = 0; r < MOST_READS; r++) {
            uint32_t reader = readers[(size_t)i * MOST_READS + r];
            if (reader) operands[reader] += tensor->bytes;
        }
    }
    Need need = {0, 0};
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += change[i];
        if (sum > need.peak) need.peak = sum;
        if (operands[i] > need.operands) need.operands = operands[i];
    }
    need.peak = ceil_div(need.peak, QUADRANTS) * GRANULE;
    return need;
}

static Module *make_code(Arena *arena, uint32_t count, uint32_t live, uint32_t percent, bool even,
                         uint64_t seed) {
    Chance chance = {seed};
    if (count < 2) count = 2;
    if (live < 1) live = 1;
    uint32_t *readers = choose_readers(arena, count, live, &chance);
    Reads reads = sort_reads(arena, readers, count);
    Builder builder = make_begin(arena, "straight");
    uint32_t *forms = NEW_ARRAY(arena, uint32_t, count);
    declare(&builder, forms, count, even, &chance);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = reads.first[i], end = reads.first[i + 1];
        if (first == end) {
            make_simple(&builder, "load", FORMS + i, forms[i]);
            continue;
        }
        /* The last one writes the output, whose id comes behind that of the last value. */
        MakeInst inst = make_inst(arena, 1, end - first);
        make_operand(&inst, FORMS + i);
        for (uint32_t r = first; r < end; r++)
            make_operand(&inst, FORMS + reads.tensors[r]);
        make_finish(&builder, &inst, "op");
    }
    Need need = find_need(&builder.func, readers, count, arena);
    int64_t usable = need.peak * percent / 100 + (percent >= 100 ? need.peak / 8 : 0);
    return make_module(&builder, usable > need.operands ? usable : need.operands);
}

Module *straight_code(Arena *arena, uint32_t count, uint32_t live, uint32_t percent,
                      uint64_t seed) {
    return make_code(arena, count, live, percent, false, seed);
}

Module *even_straight_code(Arena *arena, uint32_t count, uint32_t live, uint32_t percent,
                           uint64_t seed) {
    return make_code(arena, count, live, percent, true, seed);
}

/* ---- regular code ---- */

static uint32_t add_dram(Builder *builder, const char *stem, bool input) {
    Tensor tensor = make_tensor(builder->arena, stem, 0, SPACE_DRAM, PARTITIONS, TILE);
    tensor.input = input;
    tensor.output = !input;
    return build_tensor(builder, tensor);
}

/* `count` equal tensors; returns the id of the first. */
static uint32_t add_tiles(Builder *builder, uint32_t count) {
    uint32_t first = builder->func.ntensors;
    for (uint32_t i = 0; i < count; i++)
        build_tensor(builder, make_tensor(builder->arena, "t", i, SPACE_SB, PARTITIONS, TILE));
    return first;
}

static Module *with_room(Builder *builder, uint32_t room) {
    return make_module(builder, (int64_t)room * TILE);
}

Module *cyclic_stream(Arena *arena, uint32_t count, uint32_t rounds, uint32_t room, bool dirty) {
    Builder builder = make_begin(arena, "cyclic");
    uint32_t *inputs = NEW_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count && !dirty; i++) {
        Tensor tensor = make_tensor(arena, "X", i, SPACE_DRAM, PARTITIONS, TILE);
        tensor.input = true;
        inputs[i] = build_tensor(&builder, tensor);
    }
    uint32_t first = add_tiles(&builder, count);
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, dirty ? "make" : "load", first + i, dirty ? UINT32_MAX : inputs[i]);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < count; i++)
            make_simple(&builder, "use", UINT32_MAX, first + i);
    return with_room(&builder, room);
}

Module *forward_backward(Arena *arena, uint32_t count, uint32_t room) {
    Builder builder = make_begin(arena, "backward");
    uint32_t input = add_dram(&builder, "X", true);
    uint32_t first = add_tiles(&builder, count);
    make_simple(&builder, "load", first, input);
    for (uint32_t i = 1; i < count; i++)
        make_simple(&builder, "forward", first + i, first + i - 1);
    for (uint32_t i = count; i-- > 0;)
        make_simple(&builder, "backward", UINT32_MAX, first + i);
    return with_room(&builder, room);
}

Module *all_live(Arena *arena, uint32_t count, uint32_t room) {
    Builder builder = make_begin(arena, "all_live");
    uint32_t first = add_tiles(&builder, count);
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, "make", first + i, UINT32_MAX);
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, "use", UINT32_MAX, first + i);
    return with_room(&builder, room);
}

Module *deep_nest(Arena *arena, uint32_t depth, uint32_t trips, uint32_t room) {
    Builder builder = make_begin(arena, "nest");
    uint32_t input = add_dram(&builder, "X", true), output = add_dram(&builder, "Y", false);
    uint32_t first = add_tiles(&builder, 3);
    make_simple(&builder, "load", first, input);
    for (uint32_t i = 0; i < depth; i++) {
        int64_t high = i % 100 == 99 && trips > 0 ? trips : 1;
        build_loop(&builder, str_format(arena, "i%u", i), 0, high, (Span){0, 0});
        if (i == depth / 2) make_simple(&builder, "half", first + 1, first);
    }
    make_simple(&builder, "inner", first + 2, first);
    make_simple(&builder, "use", UINT32_MAX, depth > 0 ? first + 1 : first);
    for (uint32_t i = 0; i < depth; i++)
        build_end_loop(&builder);
    make_simple(&builder, "save", output, first + 2);
    return with_room(&builder, room);
}

Module *many_uses(Arena *arena, uint32_t count) {
    Builder builder = make_begin(arena, "many_uses");
    uint32_t input = add_dram(&builder, "X", true);
    uint32_t tile = add_tiles(&builder, 1);
    make_simple(&builder, "load", tile, input);
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, "use", UINT32_MAX, tile);
    return with_room(&builder, 1);
}

Module *two_points(Arena *arena, uint32_t count) {
    Builder builder = make_begin(arena, "two_points");
    uint32_t input = add_dram(&builder, "X", true);
    uint32_t first = add_tiles(&builder, count);
    for (uint32_t i = 0; i < count; i++)
        make_simple(&builder, i ? "next" : "load", first + i, i ? first + i - 1 : input);
    if (count > 0) make_simple(&builder, "use", UINT32_MAX, first + count - 1);
    return with_room(&builder, 2);
}

Module *disjoint_ranges(Arena *arena, uint32_t count) {
    Builder builder = make_begin(arena, "disjoint");
    uint32_t first = add_tiles(&builder, count);
    for (uint32_t i = 0; i < count; i++) {
        make_simple(&builder, "make", first + i, UINT32_MAX);
        make_simple(&builder, "use", UINT32_MAX, first + i);
    }
    return with_room(&builder, 1);
}
