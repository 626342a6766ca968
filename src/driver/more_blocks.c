#include "driver/more_blocks.h"

#include <inttypes.h>

#include "ir/build.h"
#include "ir/runs.h"
#include "spill/block_range.h"
#include "support/checked.h"
#include "support/clock.h"

enum { MOST_MORE = 1024 /* blocks */ };

/* ---- how many are ever used ---- */

/* Blocks from the least index before `mod` to the greatest: where there are as many, no two indices
 * name one block, and more make no difference but in which. Requires is_all_buffered(). */
static int64_t blocks_apart(const Func *func, uint32_t tensor) {
    Range all = {INT64_MAX, INT64_MIN};
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++) {
            if (inst->operands[o].tensor != tensor) continue;
            Range one = affine_range(affine_sum(inst->operands[o].blocks->low), func, NULL);
            if (one.low < all.low) all.low = one.low;
            if (one.high > all.high) all.high = one.high;
        }
    }
    return all.low > all.high ? 0 : saturating_add(saturating_sub(all.high, all.low), 1);
}

/* Sets named[b] for each block that some instruction names as it runs; returns how many. */
static int64_t mark_all_named(const Func *func, uint32_t tensor, bool *named) {
    int64_t count = 0;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
            if (inst->operands[o].tensor == tensor)
                count += mark_named(func, inst, &inst->operands[o], named);
    }
    return count;
}

/* ---- the search ---- */

typedef enum { TRIED_FITS, TRIED_NOT, NOT_MADE, NOT_TRIED } Tried;

typedef struct {
    bool changeable; /* one block more can be given: see CHANGE_BUFFERS */
    int64_t fit;     /* as many more were allocated without spilling */
    int64_t refused; /* as many were not; INT64_MAX: none that was tried */
    int64_t used;    /* any number fits, as no more than these are ever used; -1: not found */
} MoreBlocks;

typedef struct {
    const FitQuestion *question;
    uint32_t tensor;
    uint64_t work; /* left, as find_changes() counts it */
} MoreSearch;

static FitChange with_more(const MoreSearch *search, int64_t more) {
    int64_t blocks = search->question->func->tensors[search->tensor].blocks;
    return (FitChange){.kind = CHANGE_BUFFERS, .tensor = search->tensor, .then = blocks + more};
}

/* ---- all blocks at once ---- */

/* Operands of an instruction that names all blocks that are ever named, in ranges. */
static Inst hold_inst(const Func *func, uint32_t tensor, Arena *arena) {
    int64_t blocks = func->tensors[tensor].blocks;
    bool *named = NEW_ARRAY(arena, bool, blocks);
    mark_all_named(func, tensor, named);
    Operand *operands = NULL;
    size_t count = 0, capacity = 0;
    for (int64_t low = 0, end; low < blocks; low = end + 1) {
        for (end = low; end < blocks && named[end];)
            end++;
        if (end == low) continue;
        Operand range = {.tensor = tensor};
        range.blocks = blocks_between((Affine){0}, low, end - 1, blocks, arena);
        PUSH(arena, operands, count, capacity, range);
    }
    return (Inst){.op = STR("hold"), .operands = operands, .nsrc = (uint32_t)count};
}

static bool names(const Inst *inst, uint32_t tensor) {
    for (uint32_t o = 0; o < inst->ndst + inst->nsrc; o++)
        if (inst->operands[o].tensor == tensor) return true;
    return false;
}

/* The point of the first instruction that names the tensor, or where the loops around it begin;
 * UINT32_MAX where none does. */
static uint32_t first_use(const Func *func, uint32_t tensor) {
    for (uint32_t p = 0; p < func->ninsts; p++) {
        if (!names(&func->insts[p], tensor)) continue;
        uint32_t loop = loop_outermost(func, func->insts[p].loop);
        return loop == NO_LOOP ? p : func->loops[loop].first;
    }
    return UINT32_MAX;
}

/* The function in which all blocks of the tensor that are ever named live together from its first
 * use on, as they do when iterations run ahead: they are written before that, and read behind each
 * instruction that names one. */
static const Func *with_all_held(const Func *func, uint32_t tensor, Arena *arena) {
    uint32_t first = first_use(func, tensor);
    Inst reads = hold_inst(func, tensor, arena), writes = reads;
    writes.ndst = reads.nsrc;
    writes.nsrc = 0;
    bool begun = false;
    Builder build;
    build_begin(&build, arena, func->name, func->meta, func->span);
    for (uint32_t t = 0; t < func->ntensors; t++)
        build_tensor(&build, func->tensors[t]);
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        if (walk.event != WALK_CLOSE && walk.inst == first && !begun) {
            build_inst(&build, writes);
            begun = true;
        }
        build_walked(&build, func, &walk);
        if (walk.event != WALK_INST) continue;
        build_inst(&build, func->insts[walk.inst]);
        if (names(&func->insts[walk.inst], tensor)) build_inst(&build, reads);
    }
    return build_finish(&build);
}

/* ---- tries ---- */

static Tried try_more(MoreSearch *search, int64_t more) {
    const FitQuestion *question = search->question;
    uint64_t work = work_of_try(question->func);
    if (more > MOST_MORE || work > search->work || clock_is_past(question->deadline))
        return NOT_TRIED;
    search->work -= work;
    Arena scratch;
    arena_init(&scratch);
    const Func *changed =
        make_change(question->func, with_more(search, more), question->target, &scratch);
    const Func *held = changed ? with_all_held(changed, search->tensor, &scratch) : NULL;
    Tried tried = !held                                        ? NOT_MADE
                  : does_fit(question, held, question->target) ? TRIED_FITS
                                                               : TRIED_NOT;
    arena_free(&scratch);
    return tried == TRIED_NOT && clock_is_past(question->deadline) ? NOT_TRIED : tried;
}

/* Until nothing lies between, or no more can be tried. A number of blocks that changes what is read
 * counts as one that does not fit. */
static void halve(MoreSearch *search, MoreBlocks *found) {
    while (found->refused - found->fit > 1) {
        int64_t middle = found->fit + (found->refused - found->fit) / 2;
        Tried tried = try_more(search, middle);
        if (tried == NOT_TRIED) return;
        if (tried == TRIED_FITS)
            found->fit = middle;
        else
            found->refused = middle;
    }
}

/* Blocks more past which more make no difference. */
static int64_t most_of_use(const Func *func, uint32_t tensor) {
    if (!is_all_buffered(func, tensor)) return 1; /* none can be added */
    int64_t more = saturating_sub(blocks_apart(func, tensor), func->tensors[tensor].blocks);
    return more > 1 ? more : 1;
}

static int64_t count_used(const MoreSearch *search, int64_t more) {
    Arena scratch;
    arena_init(&scratch);
    const FitQuestion *question = search->question;
    const Func *changed =
        make_change(question->func, with_more(search, more), question->target, &scratch);
    int64_t used = -1;
    if (changed) {
        int64_t blocks = changed->tensors[search->tensor].blocks;
        used = mark_all_named(changed, search->tensor, NEW_ARRAY(&scratch, bool, blocks));
    }
    arena_free(&scratch);
    return used;
}

/* Requires a function that fits as it is. All blocks are on chip together, as they are
 * when iterations run ahead. Doubles the number until it does not fit or more are of no use, and
 * halves what lies between. A bounded number is tried, fewer of a long function: then `refused` is
 * not the next after `fit`. O(log blocks) allocations. */
static MoreBlocks find_more_blocks(const FitQuestion *question, uint32_t tensor) {
    MoreSearch search = {question, tensor, MOST_WORK_OF_TRIES};
    MoreBlocks found = {.changeable = true, .refused = INT64_MAX, .used = -1};
    int64_t most = most_of_use(question->func, tensor);
    for (int64_t more = 1; found.refused == INT64_MAX && found.fit < most; more *= 2) {
        if (more > most) more = most;
        Tried tried = try_more(&search, more);
        if (tried == NOT_TRIED) return found;
        if (more == 1 && tried == NOT_MADE) found.changeable = false;
        if (tried == TRIED_FITS)
            found.fit = more;
        else
            found.refused = more;
    }
    if (found.fit == most)
        found.used = count_used(&search, most);
    else
        halve(&search, &found);
    return found;
}

/* ---- in words ---- */

/* Why a tensor cannot be given blocks: the first reason that holds. */
static const char *why_fixed(const Func *func, uint32_t t) {
    const Tensor *tensor = &func->tensors[t];
    if (tensor->fixed) return "its place is given";
    if (tensor->input) return "it is an input";
    if (tensor->output) return "it is an output";
    if (!is_all_buffered(func, t)) return "not every index is taken mod their number";
    return "with another number other values would be read";
}

static void write_found(const FitQuestion *question, uint32_t t, MoreBlocks found, Writer *out) {
    if (!found.changeable) {
        write_format(out, "cannot be given blocks: %s\n", why_fixed(question->func, t));
        return;
    }
    if (found.used >= 0) {
        write_format(out,
                     "any number of blocks more would fit: no more than %" PRId64 " %s ever used\n",
                     found.used, found.used == 1 ? "is" : "are");
        return;
    }
    write_format(out, "%" PRId64 " block%s more would fit", found.fit, found.fit == 1 ? "" : "s");
    if (found.refused == INT64_MAX)
        write_text(out, "; more were not tried\n");
    else
        write_format(out, ", not %" PRId64 "\n", found.refused);
}

static void write_one(const FitQuestion *question, uint32_t t, bool spilled, Writer *out) {
    const Tensor *tensor = &question->func->tensors[t];
    write_str(out, question->func->name);
    write_text(out, ": %");
    write_str(out, tensor->name);
    write_text(out, ": ");
    if (tensor->space != SPACE_SB)
        write_text(out, "is not in the State Buffer\n");
    else if (spilled)
        write_text(out, "0 blocks more would fit: something is spilled already\n");
    else
        write_found(question, t, find_more_blocks(question, t), out);
}

void write_more_blocks(const FitQuestion *question, bool spilled, Writer *out) {
    const Wishes *wishes = &question->options->headroom;
    const Func *func = question->func;
    for (uint32_t i = 0; i < wishes->count; i++)
        for (uint32_t t = 0; t < func->ntensors && wish_is_of(&wishes->items[i], func); t++)
            if (str_equal(func->tensors[t].name, wishes->items[i].tensor))
                write_one(question, t, spilled, out);
}
