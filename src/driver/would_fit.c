#include "driver/would_fit.h"

#include "driver/allocate.h"
#include "driver/strategy.h"
#include "ir/build.h"
#include "support/checked.h"
#include "support/clock.h"
#include "support/sort.h"

/* ---- does it fit? ---- */

/* The options of the question, for one allocation of which only the outcome counts. */
static Options quick_options(const FitQuestion *question) {
    enum { MOST_EFFORT = 4 /* more takes minutes */ };
    Options options = *question->options;
    options.emit = EMIT_PLACED;
    options.table = fit_strategies();
    if (options.effort > MOST_EFFORT) options.effort = MOST_EFFORT;
    options.no_spill = !question->may_spill;
    options.outcome_only = true;
    options.verify = options.verbose = options.peaks = options.advise = false;
    options.explain = (Wishes){NULL, 0};
    options.headroom = (Wishes){NULL, 0};
    options.explain_spilled = false;
    options.source = NULL;
    options.previous = NULL;
    return options;
}

static bool is_allocated(const FitQuestion *question, const Func *func, const Target *target,
                         bool brief) {
    Options options = quick_options(question);
    options.brief = brief;
    if (question->deadline > 0) options.time_limit = question->deadline - clock_now();
    if (options.time_limit <= 0) return false;
    Arena scratch;
    arena_init(&scratch);
    DiagQueue unheard;
    diag_init(&unheard, &scratch);
    bool fits = allocate(func, target, &options, &scratch, &unheard).status == ALLOCATED;
    arena_free(&scratch);
    return fits;
}

/* In few steps, as most tries fail; what fits so has to fit in the usual number too. */
bool does_fit(const FitQuestion *question, const Func *func, const Target *target) {
    return is_allocated(question, func, target, true) &&
           is_allocated(question, func, target, false);
}

/* ---- changes ---- */

enum { MOST_FEWER = 4 /* buffers that are taken away */, MOST_TENSORS = 8 };

typedef struct {
    const FitQuestion *question;
    const Shortage *shortage;
    Arena *arena;
    FitChanges found;
    size_t capacity;
    FitChange *halves; /* of one tensor, that were made and are not enough: one half of a pair */
    size_t nhalves, halves_capacity;
    uint64_t work; /* left: steps of the functions that are tried */
} FitSearch;

/* In the State Buffer. */
static int64_t count_blocks(const Func *func) {
    int64_t blocks = 0;
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].space == SPACE_SB)
            blocks = saturating_add(blocks, func->tensors[t].blocks);
    return blocks;
}

uint64_t work_of_try(const Func *func) {
    enum { LEAST = 2000, MOST = 1000000, OF_BLOCK = 8 };
    uint64_t steps = LEAST;
    for (uint32_t p = 0; p < func->ninsts && steps < MOST; p++)
        steps += (uint64_t)loop_trips(func, func->insts[p].loop);
    if (steps > MOST) steps = MOST;
    return steps + (uint64_t)saturating_mul(count_blocks(func), OF_BLOCK);
}

/* True for a change of which two may be told together: those that say what to do, not how much. */
static bool is_half(FitChange change) {
    return change.kind <= CHANGE_TYPE && !change.also;
}

/* Makes the change and keeps it if it fits. */
static bool try_change(FitSearch *search, FitChange change) {
    const FitQuestion *question = search->question;
    uint64_t work = work_of_try(question->func);
    if (work > search->work || clock_is_past(question->deadline)) {
        search->found.cut_short = true;
        return false;
    }
    Arena scratch;
    arena_init(&scratch);
    Target target = *question->target;
    if (change.kind == CHANGE_TARGET) target = *change.target;
    if (change.kind == CHANGE_ROOM) {
        target.sb_bytes = change.then;
        target.sb_reserved = 0;
    }
    const Func *changed = make_change(question->func, change, question->target, &scratch);
    if (changed) search->work -= work;
    bool fits = changed && does_fit(question, changed, &target);
    arena_free(&scratch);
    size_t count = search->found.count;
    if (fits)
        PUSH(search->arena, search->found.items, count, search->capacity, change);
    else if (changed && is_half(change))
        PUSH(search->arena, search->halves, search->nhalves, search->halves_capacity, change);
    search->found.count = (uint32_t)count;
    return fits;
}

/* Bytes of a block such that all that are there take `less` bytes less, in whole granules and
 * elements; 0 where none are left. */
static int64_t bytes_with_less(const Tensor *tensor, int64_t blocks, int64_t less) {
    int64_t unit = GRANULE > dtype_bytes(tensor->dtype) ? GRANULE : dtype_bytes(tensor->dtype);
    int64_t a_block = ceil_div(less, blocks);
    return a_block >= tensor->bytes ? 0 : (tensor->bytes - a_block) / unit * unit;
}

/* Narrow tensors may have to give more, as they share their bytes with others beside them. */
static void try_bytes(FitSearch *search, uint32_t tensor, int64_t blocks) {
    enum { MOST_TIMES = 4 };
    int64_t least = search->shortage->over > 0 ? search->shortage->over : GRANULE;
    for (int64_t times = 1; times <= MOST_TIMES; times *= 2) {
        int64_t bytes = bytes_with_less(&search->question->func->tensors[tensor], blocks,
                                        saturating_mul(least, times));
        FitChange change = {.kind = CHANGE_BYTES, .tensor = tensor, .then = bytes};
        if (bytes == 0 || try_change(search, change)) return;
    }
}

static void try_partitions(FitSearch *search, uint32_t tensor) {
    enum { HALF = 64, QUADRANT = 32 };
    int64_t partitions = search->question->func->tensors[tensor].partitions;
    FitChange change = {.kind = CHANGE_PARTITIONS, .tensor = tensor, .then = HALF};
    if (partitions > HALF && try_change(search, change)) return;
    change.then = QUADRANT;
    if (partitions > QUADRANT) try_change(search, change);
}

/* The load that brings what the tensor holds at the point, and the next instruction that names the
 * tensor: the same loop has both. */
static bool find_load(const Func *func, uint32_t tensor, uint32_t point, FitChange *change) {
    uint32_t load = point;
    while (load > 0 &&
           !(func->insts[load].kind == OP_LOAD && inst_dst(&func->insts[load])->tensor == tensor))
        load--;
    const Inst *inst = &func->insts[load];
    if (inst->kind != OP_LOAD || inst_dst(inst)->tensor != tensor || load >= point) return false;
    for (uint32_t p = load + 1; p < func->ninsts; p++)
        for (uint32_t o = 0; o < func->insts[p].ndst + func->insts[p].nsrc; o++)
            if (func->insts[p].operands[o].tensor == tensor) {
                *change = (FitChange){.kind = CHANGE_LOAD, .tensor = tensor, .from = load, .to = p};
                return p > point && inst->loop == func->insts[p].loop;
            }
    return false;
}

static void try_load(FitSearch *search, uint32_t tensor) {
    FitChange change;
    uint32_t point = search->shortage->point;
    bool helps = point != UINT32_MAX && !search->question->may_spill;
    if (helps && find_load(search->question->func, tensor, point, &change))
        try_change(search, change);
}

static void try_buffers(FitSearch *search, uint32_t tensor) {
    int64_t blocks = search->question->func->tensors[tensor].blocks;
    for (int64_t then = blocks - 1; then > 0 && then >= blocks - MOST_FEWER; then--) {
        FitChange change = {.kind = CHANGE_BUFFERS, .tensor = tensor, .then = then};
        if (try_change(search, change)) return;
    }
}

static void try_type(FitSearch *search, uint32_t tensor) {
    Dtype dtype = search->question->func->tensors[tensor].dtype;
    if (half_dtype(dtype) != dtype)
        try_change(search, (FitChange){.kind = CHANGE_TYPE, .tensor = tensor});
}

/* Changes of one kind of the tensors that take most. */
static void try_kind(FitSearch *search, FitChangeKind kind) {
    for (uint32_t i = 0; i < search->shortage->count && i < MOST_TENSORS; i++) {
        uint32_t tensor = search->shortage->tensors[i];
        if (kind == CHANGE_LOAD) try_load(search, tensor);
        if (kind == CHANGE_BUFFERS) try_buffers(search, tensor);
        if (kind == CHANGE_TYPE) try_type(search, tensor);
        if (kind == CHANGE_BYTES) try_bytes(search, tensor, search->shortage->blocks[i]);
        if (kind == CHANGE_PARTITIONS) try_partitions(search, tensor);
    }
}

/* Tries so many usable bytes. */
static bool try_room(FitSearch *search, int64_t bytes) {
    return try_change(search, (FitChange){.kind = CHANGE_ROOM, .then = bytes});
}

/* Bytes that all tensors take side by side, where each quadrant has room for each. */
static int64_t bytes_of_all(const Func *func) {
    int64_t sum = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        int64_t gap = tensor->align > GRANULE ? tensor->align - GRANULE : 0;
        int64_t block = saturating_add(round_up(tensor->bytes, GRANULE), gap);
        if (tensor->space == SPACE_SB)
            sum = saturating_add(sum, saturating_mul(block, tensor->blocks));
    }
    return sum;
}

/* True if eight bytes fewer would do too, as all steps of the search tell. */
static bool does_with_less(FitSearch *search, int64_t bytes) {
    Target target = *search->question->target;
    target.sb_bytes = bytes - GRANULE;
    target.sb_reserved = 0;
    uint64_t work = work_of_try(search->question->func);
    if (work > search->work || target.sb_bytes <= target_usable(search->question->target))
        return false;
    search->work -= work;
    return is_allocated(search->question, search->question->func, &target, false);
}

/* `less` are too few and `bytes` enough: halves what lies between. */
static int64_t halve_rooms(FitSearch *search, int64_t less, int64_t bytes) {
    enum { MOST_LESS = 8 };
    while (bytes - less > GRANULE && !search->found.cut_short) {
        int64_t half = less + (bytes - less) / 2 / GRANULE * GRANULE;
        if (try_room(search, half))
            bytes = half;
        else
            less = half;
    }
    for (int i = 0; i < MOST_LESS && does_with_less(search, bytes); i++)
        bytes -= GRANULE;
    return bytes;
}

static void set_room(FitSearch *search, int64_t bytes, bool or_fewer) {
    FitChange change = {.kind = CHANGE_ROOM, .then = bytes, .or_fewer = or_fewer};
    size_t count = search->found.count = 0;
    PUSH(search->arena, search->found.items, count, search->capacity, change);
    search->found.count = (uint32_t)count;
}

static bool has_fixed(const Func *func) {
    for (uint32_t t = 0; t < func->ntensors; t++)
        if (func->tensors[t].fixed) return true;
    return false;
}

/* Where too little could be tried: all side by side surely fit. */
static void set_room_of_all(FitSearch *search, int64_t least) {
    const Func *func = search->question->func;
    int64_t bytes = bytes_of_all(func);
    if (bytes <= TARGET_MOST_BYTES && !has_fixed(func)) set_room(search, bytes, bytes > least);
}

/* The fewest usable bytes that are enough, INT64_MAX where none were found: what is needed may be
 * less than what places take, so the steps grow, and what lies between the last that do not and
 * these is halved. */
static int64_t try_rooms(FitSearch *search) {
    enum { PARTS = 16 };
    int64_t less = target_usable(search->question->target) / GRANULE * GRANULE;
    int64_t over = search->shortage->over > 0 ? search->shortage->over : GRANULE;
    int64_t least = round_up(saturating_add(less, over), GRANULE), bytes = least;
    int64_t most = bytes_of_all(search->question->func), step = over / PARTS / GRANULE * GRANULE;
    if (least > TARGET_MOST_BYTES) return INT64_MAX;
    bool fits = try_room(search, bytes);
    for (step += GRANULE; !fits && bytes < most && bytes < TARGET_MOST_BYTES; step *= 2) {
        if (search->found.cut_short) break;
        less = bytes;
        bytes = bytes + step < TARGET_MOST_BYTES ? bytes + step : TARGET_MOST_BYTES;
        fits = try_room(search, bytes);
    }
    if (fits) {
        bytes = halve_rooms(search, less, bytes);
        set_room(search, bytes, search->found.cut_short && bytes > least);
    } else if (search->found.cut_short) {
        set_room_of_all(search, least);
    }
    return fits ? bytes : INT64_MAX;
}

/* Usable bytes, and the smallest built-in target, that are large enough. */
static void try_targets(FitSearch *search) {
    int64_t usable = target_usable(search->question->target), least = try_rooms(search);
    uint32_t count;
    const Str *names = target_names(&count);
    for (uint32_t i = 0; i < count; i++) {
        const Target *target = target_builtin(names[i]);
        FitChange change = {.kind = CHANGE_TARGET, .then = target_usable(target), .target = target};
        if (change.then <= usable || !str_equal(target->name, names[i])) continue;
        if (change.then >= least || least == INT64_MAX)
            if (try_change(search, change)) return;
    }
}

/* ---- how much is changed ---- */

/* Blocks of the tensor where it is short. */
static int64_t blocks_there(const FitSearch *search, uint32_t tensor) {
    for (uint32_t i = 0; i < search->shortage->count; i++)
        if (search->shortage->tensors[i] == tensor) return search->shortage->blocks[i];
    return 0;
}

/* Bytes per partition that a change of one tensor takes off where it is short. */
static int64_t bytes_off(const FitSearch *search, FitChange change) {
    const Tensor *tensor = &search->question->func->tensors[change.tensor];
    int64_t blocks = blocks_there(search, change.tensor);
    switch (change.kind) {
    case CHANGE_BUFFERS:
        return saturating_mul(tensor->blocks - change.then, tensor->bytes);
    case CHANGE_TYPE:
        return saturating_mul(blocks, tensor->bytes) / 2;
    case CHANGE_BYTES:
        return saturating_mul(blocks, tensor->bytes - change.then);
    default:
        return saturating_mul(blocks, tensor->bytes);
    }
}

/* The same in all partitions, of the second of a pair too. */
static int64_t area_off(const FitSearch *search, FitChange change) {
    int64_t partitions = search->question->func->tensors[change.tensor].partitions;
    if (change.kind == CHANGE_PARTITIONS) partitions -= change.then;
    int64_t area = saturating_mul(bytes_off(search, change), partitions);
    return change.also ? saturating_add(area, area_off(search, *change.also)) : area;
}

/* Orders changes of tensors: cheap kinds first, of a pair by the dearer one and then the other;
 * then those that take off least. */
static uint64_t price(const FitSearch *search, FitChange change) {
    enum { KIND_BITS = 4, AREA_BITS = 64 - 2 * KIND_BITS };
    uint64_t dear = change.kind, cheap = change.also ? change.also->kind : change.kind;
    uint64_t area = (uint64_t)area_off(search, change), most = (UINT64_C(1) << AREA_BITS) - 1;
    uint64_t kinds = dear > cheap ? dear << KIND_BITS | cheap : cheap << KIND_BITS | dear;
    return kinds << AREA_BITS | (area < most ? area : most);
}

static void sort_changes(const FitSearch *search, FitChange *changes, uint32_t count) {
    SortKey *order = RAW_ARRAY(search->arena, SortKey, count);
    FitChange *as_found = RAW_ARRAY(search->arena, FitChange, count);
    for (uint32_t i = 0; i < count; i++) {
        as_found[i] = changes[i];
        order[i] = (SortKey){price(search, changes[i]), i};
    }
    sort_keys(order, count, search->arena);
    for (uint32_t i = 0; i < count; i++)
        changes[i] = as_found[order[i].id];
}

/* ---- pairs ---- */

/* Smaller blocks give half of what is short each. */
static void add_bytes_halves(FitSearch *search) {
    int64_t less = ceil_div(search->shortage->over, 2);
    Arena scratch;
    arena_init(&scratch);
    for (uint32_t i = 0; i < search->shortage->count && i < MOST_TENSORS && less > 0; i++) {
        uint32_t tensor = search->shortage->tensors[i];
        const Func *func = search->question->func;
        FitChange change = {.kind = CHANGE_BYTES, .tensor = tensor};
        change.then = bytes_with_less(&func->tensors[tensor], search->shortage->blocks[i], less);
        if (change.then > 0 && make_change(func, change, search->question->target, &scratch))
            PUSH(search->arena, search->halves, search->nhalves, search->halves_capacity, change);
    }
    arena_free(&scratch);
}

/* Pairs of changes that take off enough, with smaller blocks or without. */
static FitChanges list_pairs(const FitSearch *search, bool smaller) {
    size_t most = search->nhalves * search->nhalves;
    FitChanges pairs = {.items = RAW_ARRAY(search->arena, FitChange, most)};
    for (size_t a = 0; a < search->nhalves; a++)
        for (size_t b = a + 1; b < search->nhalves; b++) {
            FitChange one = search->halves[a];
            const FitChange *also = &search->halves[b];
            int64_t bytes = saturating_add(bytes_off(search, one), bytes_off(search, *also));
            bool has_smaller = one.kind == CHANGE_BYTES || also->kind == CHANGE_BYTES;
            if (one.tensor == also->tensor || bytes < search->shortage->over) continue;
            if (has_smaller != smaller) continue;
            one.also = also;
            pairs.items[pairs.count++] = one;
        }
    return pairs;
}

/* Where no change of one tensor is enough: the cheapest pair found. */
static void try_pairs(FitSearch *search, bool smaller) {
    enum { MOST_TRIES = 24 };
    FitChanges pairs = list_pairs(search, smaller);
    sort_changes(search, pairs.items, pairs.count);
    for (uint32_t i = 0; i < pairs.count && i < MOST_TRIES; i++)
        if (try_change(search, pairs.items[i])) return;
}

FitChanges find_changes(const FitQuestion *question, const Shortage *shortage, Arena *arena) {
    enum { OF_CHANGES = MOST_WORK_OF_TRIES / 2 };
    FitSearch search = {
        .question = question, .shortage = shortage, .arena = arena, .work = MOST_WORK_OF_TRIES};
    try_targets(&search);
    FitChanges targets = search.found;
    search.found = (FitChanges){.cut_short = targets.cut_short};
    search.work += OF_CHANGES;
    search.capacity = 0;
    for (FitChangeKind kind = CHANGE_LOAD; kind <= CHANGE_TYPE; kind++)
        try_kind(&search, kind);
    if (search.found.count == 0) try_pairs(&search, false);
    for (FitChangeKind kind = CHANGE_BYTES; kind <= CHANGE_PARTITIONS; kind++)
        try_kind(&search, kind);
    if (search.found.count == 0) {
        add_bytes_halves(&search);
        try_pairs(&search, true);
    }
    sort_changes(&search, search.found.items, search.found.count);
    for (uint32_t i = 0; i < targets.count; i++) {
        size_t count = search.found.count;
        PUSH(arena, search.found.items, count, search.capacity, targets.items[i]);
        search.found.count = (uint32_t)count;
    }
    return search.found;
}
