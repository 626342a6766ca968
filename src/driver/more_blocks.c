#include "driver/more_blocks.h"

#include <inttypes.h>

#include "support/clock.h"

/* ---- the search ---- */

enum { MOST_MORE = 1024 /* blocks */ };

typedef enum { TRIED_FITS, TRIED_NOT, NOT_MADE, NOT_TRIED } Tried;

typedef struct {
    bool changeable; /* one block more can be given: see CHANGE_BUFFERS */
    int64_t fit;     /* as many more were allocated without spilling */
    int64_t refused; /* as many were not; INT64_MAX: none that was tried */
} MoreBlocks;

typedef struct {
    const FitQuestion *question;
    uint32_t tensor;
    uint64_t work; /* left, as find_changes() counts it */
} MoreSearch;

static Tried try_more(MoreSearch *search, int64_t more) {
    const FitQuestion *question = search->question;
    int64_t blocks = question->func->tensors[search->tensor].blocks;
    uint64_t work = work_of_try(question->func);
    if (more > MOST_MORE || work > search->work || clock_is_past(question->deadline))
        return NOT_TRIED;
    search->work -= work;
    Arena scratch;
    arena_init(&scratch);
    FitChange change = {.kind = CHANGE_BUFFERS, .tensor = search->tensor, .then = blocks + more};
    const Func *pinned = with_pin(question->func, search->tensor, true, &scratch);
    const Func *changed = make_change(pinned, change, question->target, &scratch);
    Tried tried = !changed                                        ? NOT_MADE
                  : does_fit(question, changed, question->target) ? TRIED_FITS
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

/* Requires a function that fits as it is. The tensor is pinned: all blocks are on chip together, as
 * they are when iterations run ahead. Doubles the number until it does not fit, and halves what
 * lies between. A bounded number is tried, fewer of a long function: then `refused` is not the next
 * after `fit`. O(log blocks) allocations. */
static MoreBlocks find_more_blocks(const FitQuestion *question, uint32_t tensor) {
    MoreSearch search = {question, tensor, MOST_WORK_OF_TRIES};
    MoreBlocks found = {.changeable = true, .refused = INT64_MAX};
    for (int64_t more = 1; found.refused == INT64_MAX; more *= 2) {
        Tried tried = try_more(&search, more);
        if (tried == NOT_TRIED) return found;
        if (more == 1 && tried == NOT_MADE) found.changeable = false;
        if (tried == TRIED_FITS)
            found.fit = more;
        else
            found.refused = more;
    }
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
