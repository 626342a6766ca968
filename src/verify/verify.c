#include "verify/verify.h"

#include <string.h>

#include "ir/dma.h"
#include "ir/runs.h"
#include "verify/intern.h"
#include "verify/machine.h"
#include "verify/match.h"
#include "verify/place.h"
#include "verify/shorten.h"

enum { STEP_LIMIT = 10 * 1000 * 1000, MOST_FAULTS = MOST_OVERLAPS };

/* Formats a Str for "%.*s". */
#define TEXT(str) (int)(str).length, (str).text

/* An instruction as one side runs it. */
typedef struct {
    const Inst *inst; /* NULL: this side has none in this step */
    uint32_t number;
    MachineAccess *accesses; /* [ndst + nsrc] */
    Segments *segments;      /* [nsrc], and one more for a destination that is read */
    size_t capacity;
} Running;

/* Where a value came from: an instruction of the original (or ADDED, one that only the result has),
 * or a tensor that had it on entry (NO_INST). */
typedef struct {
    uint32_t inst, tensor; /* of the original */
} Origin;

#define ADDED (UINT32_MAX - 1)

typedef struct {
    Arena *arena;
    DiagQueue *diags;
    Match match;
    Storage storage;
    Machine original, result;
    Interned interned; /* values of transfers that change the shape */
    Course *courses;
    size_t *trip;     /* [nloops] position in the course */
    int64_t *indices; /* [nloops] */
    uint32_t loop;    /* innermost one around the instruction that runs */
    uint64_t step;    /* instructions run so far */
    Origin *origins;  /* by value; value 0 is none */
    size_t norigins, origins_capacity;
    uint32_t *twin_inst; /* [original->ninsts] the instruction in the result, or NO_INST */
    Running was, is;
    struct {
        uint32_t inst, operand;
    } told[MOST_FAULTS]; /* operands that a fault was queued for */
    uint32_t ntold;
    bool *placeless;  /* [result->ntensors] told to have no place */
    bool placed;      /* the result's tensors have places */
    bool defined;     /* blocks that are read must have been written */
    uint32_t *hollow; /* [result->ntensors] a reload into it from what nothing writes, NO_INST:
                         none; NULL where none is told by who reads it */
    FixedOverlap *overlaps; /* not NULL: those that have none lie beside the State Buffer */
    uint32_t noverlaps;
    bool strayed; /* an index left its tensor: the run ends there */
} Verification;

/* --- Values --- */

static uint64_t new_value(Verification *run, uint32_t inst, uint32_t tensor) {
    PUSH(run->arena, run->origins, run->norigins, run->origins_capacity, ((Origin){inst, tensor}));
    return run->norigins - 1;
}

/* --- Faults --- */

static bool enough(const Verification *run) {
    return run->ntold >= MOST_FAULTS;
}

/* False if this operand was told already, or too many were. */
static bool first_time(Verification *run, uint32_t inst, uint32_t operand) {
    if (enough(run)) return false;
    for (uint32_t i = 0; i < run->ntold; i++)
        if (run->told[i].inst == inst && run->told[i].operand == operand) return false;
    run->told[run->ntold].inst = inst;
    run->told[run->ntold++].operand = operand;
    return true;
}

/* `i = 2, j = 0`, or nothing outside loops. Deep nests show the inner loops. */
static const char *iteration_text(Verification *run) {
    enum { MOST_SHOWN = 4 };
    const char *text = "";
    const Func *func = run->match.original;
    uint32_t shown = 0;
    for (uint32_t l = run->loop; l != NO_LOOP && shown < MOST_SHOWN; l = func->loops[l].parent)
        text = str_format(run->arena, "%.*s = %lld%s%s", TEXT(func->loops[l].name),
                          (long long)run->indices[l], shown++ ? ", " : "", text)
                   .text;
    return text;
}

static const char *where_text(Verification *run) {
    const char *text = iteration_text(run);
    return *text ? str_format(run->arena, " (%s)", text).text : "";
}

static const char *part_text(Verification *run, const Tensor *tensor, int64_t block, Region rect) {
    const char *text =
        tensor->blocks == 1 ? "" : str_format(run->arena, "block %lld, ", (long long)block).text;
    return str_format(run->arena, "%sbytes %lld-%lld in partitions %lld-%lld", text,
                      (long long)rect.b0, (long long)rect.b1 - 1, (long long)rect.p0,
                      (long long)rect.p1 - 1)
        .text;
}

/* Keeps what a fault says of fixed tensors. Each comes after first_time(), which counts them. */
static void note_overlap(Verification *run, uint32_t tensor, uint32_t taker) {
    uint32_t inst = run->is.inst ? run->is.number : NO_INST;
    if (run->overlaps) run->overlaps[run->noverlaps++] = (FixedOverlap){tensor, taker, inst};
}

static void note_taker(Verification *run, Loss loss) {
    if (loss.writer != NO_INST)
        diag_note(run->diags, run->match.result->insts[loss.writer].span, true, "overwritten here");
}

/* What lies there instead of the value wanted. */
static const char *found_text(Verification *run, uint64_t found, PlanePiece expected) {
    const Func *original = run->match.original;
    if (found == NO_VALUE) return "hold no value";
    Origin origin = run->origins[found];
    if (found == expected.value) return "hold another part of their value";
    const char *name = shown_name(run->arena, &original->tensors[origin.tensor]);
    if (origin.inst == NO_INST)
        return str_format(run->arena, "hold what %s had on entry", name).text;
    if (origin.inst == ADDED) return "hold what an added `load` made";
    if (run->origins[expected.value].inst == origin.inst)
        return str_format(run->arena, "hold what %s run of `%.*s` made",
                          found < expected.value ? "an earlier" : "a later",
                          TEXT(original->insts[origin.inst].op))
            .text;
    return str_format(run->arena, "hold what `%.*s` made as %s",
                      TEXT(original->insts[origin.inst].op), name)
        .text;
}

static void note_origin(Verification *run, uint64_t value, const char *text) {
    if (value == NO_VALUE || run->origins[value].inst >= ADDED) return;
    uint32_t twin = run->twin_inst[run->origins[value].inst];
    if (twin != NO_INST)
        diag_note(run->diags, run->match.result->insts[twin].span, true, "%s", text);
}

/* Whether another loss is of the same write and bytes, and which partitions it adds within `cut`.
 */
static bool is_same_taking(const Loss *loss, const Loss *other, Region cut, Region *part) {
    Region mine;
    return regions_meet(loss->rect, cut, &mine) && regions_meet(other->rect, cut, part) &&
           loss->owner == other->owner && loss->block == other->block &&
           loss->writer == other->writer && mine.b0 == part->b0 && mine.b1 == part->b1;
}

/* The rectangle that the write of `loss` has taken within `cut`. Each quadrant has a loss of its
 * own, in order. */
static Region all_lost(const Machine *machine, const Loss *loss, Region cut) {
    Region rect, part;
    regions_meet(loss->rect, cut, &rect);
    for (size_t i = 0; i < machine->nlosses; i++)
        if (is_same_taking(loss, &machine->losses[i], cut, &part) && part.p0 == rect.p1)
            rect.p1 = part.p1;
    for (size_t i = machine->nlosses; i-- > 0;)
        if (is_same_taking(loss, &machine->losses[i], cut, &part) && part.p1 == rect.p0)
            rect.p0 = part.p0;
    return rect;
}

/* What has taken the storage of the value that is wanted, NULL where that is not what is wrong.
 * `rect` is what it has taken of the difference. */
static const Loss *find_loss(Verification *run, uint32_t number, int64_t block,
                             const Difference *difference, Region *rect) {
    const Tensor *tensor = &run->match.result->tensors[number];
    Machine *machine = &run->result;
    MachineAccess access = machine_all(machine, number);
    if (block < 0 || block >= tensor->blocks) return NULL;
    access.low = block;
    access.count = 1;
    access.rect = difference->within;
    machine_losses(machine, &access);
    if (machine_kept(machine, number, block, difference->rect) != difference->expected.value)
        return NULL;
    for (size_t i = 0; i < machine->nlosses; i++) {
        if (!regions_meet(machine->losses[i].rect, difference->rect, rect)) continue;
        *rect = all_lost(machine, &machine->losses[i], difference->within);
        return &machine->losses[i];
    }
    return NULL;
}

/* `%b`, or `block 3 of %b`. */
static const char *taker_text(Verification *run, const Loss *loss) {
    const Tensor *taker = &run->match.result->tensors[loss->owner];
    const char *name = shown_name(run->arena, taker);
    if (taker->space != SPACE_SB || taker->blocks == 1) return name;
    return str_format(run->arena, "block %lld of %s", (long long)loss->block, name).text;
}

/* Tells that `subject` does not have what it should in a block of a result's tensor. */
static void tell_difference(Verification *run, Span span, const char *subject, uint32_t number,
                            int64_t block, Difference difference) {
    const Tensor *tensor = &run->match.result->tensors[number];
    const char *name = shown_name(run->arena, tensor), *where = where_text(run);
    Region rect = difference.rect;
    const Loss *loss = find_loss(run, number, block, &difference, &rect);
    const char *part = part_text(run, tensor, block, loss ? rect : difference.rect);
    note_overlap(run, number, loss ? loss->owner : UINT32_MAX);
    if (loss) {
        diag_error(run->diags, span, "%s %s, but %s were overwritten by %s%s", subject, name, part,
                   taker_text(run, loss), where);
        note_taker(run, *loss);
        return;
    }
    diag_error(run->diags, span, "%s %s, but %s %s%s", subject, name, part,
               found_text(run, difference.found, difference.expected), where);
    note_origin(run, difference.expected.value, "the value that it should read is made here");
}

/* --- Comparing --- */

/* Finds the first difference of two reads. Returns false, and which relative block it is in. */
static bool segments_agree(Verification *run, const Segments *wanted, const Segments *actual,
                           Region rect, Difference *difference, int64_t *block) {
    size_t j = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const Extent *want = &wanted->items[i];
        for (int64_t at = want->low, end; at < want->high; at = end) {
            while (j < actual->count && actual->items[j].high <= at)
                j++;
            Contents have = {NO_VALUE, 0};
            end = want->high;
            if (j < actual->count && actual->items[j].low <= at) have = actual->items[j].contents;
            if (j < actual->count) {
                int64_t next =
                    actual->items[j].low <= at ? actual->items[j].high : actual->items[j].low;
                if (next < end) end = next;
            }
            *block = at;
            if (!contents_agree(&run->storage.planes, want->contents, have, rect, difference))
                return false;
        }
    }
    return true;
}

static bool same_corner(Region a, Region b) {
    return a.p0 == b.p0 && a.b0 == b.b0;
}

/* What the result read as operand `i`, moved to where the original's rectangle begins. */
static Segments moved_segments(Verification *run, uint32_t i, uint32_t s) {
    Segments moved = {0};
    const Segments *actual = &run->is.segments[s];
    for (size_t k = 0; k < actual->count; k++) {
        Extent segment = actual->items[k];
        segment.contents = segment_moved(&run->result, &segment, run->is.accesses[i].rect,
                                         run->was.accesses[i].rect);
        PUSH(run->arena, moved.items, moved.count, moved.capacity, segment);
    }
    return moved;
}

static void move_region(Region *region, int64_t down, int64_t right) {
    region->p0 += down;
    region->p1 += down;
    region->b0 += right;
    region->b1 += right;
}

/* The same where the result reads from a copy of part of a block, which begins elsewhere. */
static bool moved_agree(Verification *run, uint32_t i, uint32_t s, Difference *difference,
                        int64_t *block) {
    Region was = run->was.accesses[i].rect, is = run->is.accesses[i].rect;
    Segments moved = moved_segments(run, i, s);
    bool agree = segments_agree(run, &run->was.segments[s], &moved, was, difference, block);
    segments_drop(&run->result, &moved);
    if (agree) return true;
    int64_t down = is.p0 - was.p0, right = is.b0 - was.b0;
    move_region(&difference->rect, down, right);
    move_region(&difference->within, down, right);
    return false;
}

/* Compares what both sides read as operand `i`, in segments[s]. */
static bool compare_operand(Verification *run, uint32_t i, uint32_t s) {
    const MachineAccess *was = &run->was.accesses[i], *is = &run->is.accesses[i];
    Difference difference;
    int64_t block;
    if (same_corner(was->rect, is->rect)
            ? segments_agree(run, &run->was.segments[s], &run->is.segments[s], was->rect,
                             &difference, &block)
            : moved_agree(run, i, s, &difference, &block))
        return true;
    const Inst *inst = run->is.inst;
    if (first_time(run, run->is.number, i))
        tell_difference(run, operand_span(inst, &inst->operands[i]),
                        str_format(run->arena, "`%.*s` reads", TEXT(inst->op)).text, is->tensor,
                        is->low + block, difference);
    return false;
}

/* --- One instruction --- */

static void reserve(Verification *run, Running *side, size_t operands) {
    if (operands <= side->capacity) return;
    size_t wanted = operands * 2 > 8 ? operands * 2 : 8;
    side->accesses = NEW_ARRAY(run->arena, MachineAccess, wanted);
    side->segments =
        arena_grow(run->arena, side->segments, side->capacity, wanted, sizeof(Segments));
    side->capacity = wanted;
}

static void start_inst(Verification *run, Running *side, const Machine *machine, const Func *func,
                       uint32_t number) {
    side->inst = NULL;
    if (number == STEP_NONE) return;
    const Inst *inst = &func->insts[number];
    if (!condition_holds(inst->condition, run->indices)) return;
    side->inst = inst;
    side->number = number;
    reserve(run, side, (size_t)inst->ndst + inst->nsrc + 1);
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++)
        side->accesses[i] = machine_resolve(machine, &inst->operands[i], run->indices);
}

/* Tells of the first operand of one side that names what its tensor does not have, at the
 * instruction of the result if there is one. */
static bool strays(Verification *run, const Machine *machine, const Running *side) {
    int64_t block = 0;
    uint32_t count = side->inst ? side->inst->ndst + side->inst->nsrc : 0, i = 0;
    while (i < count && !access_strays(machine, &side->accesses[i], &block))
        i++;
    if (i == count) return false;
    const Inst *shown = run->is.inst ? run->is.inst : side->inst;
    const Tensor *tensor = &machine->func->tensors[side->accesses[i].tensor];
    const char *at = iteration_text(run);
    const Operand *operand = &shown->operands[i];
    Span span = operand->blocks ? operand->blocks->span : operand->span;
    if (span.begin >= span.end) span = operand_span(shown, operand);
    diag_error(run->diags, span, "index outside %s: block %lld of %lld%s%s",
               shown_name(run->arena, tensor), (long long)block, (long long)tensor->blocks,
               *at ? " at " : "", at);
    return run->strayed = true;
}

static bool is_transfer(const Inst *inst) {
    return inst->kind != OP_OTHER && !inst->accumulate && inst->ndst == 1 && inst->nsrc == 1;
}

static bool same_place(const Verification *run, const MachineAccess *a, const MachineAccess *b) {
    const Tensor *t = &run->match.result->tensors[a->tensor];
    const Tensor *u = &run->match.result->tensors[b->tensor];
    if (a->count != b->count || a->rect.p0 != b->rect.p0 || a->rect.p1 != b->rect.p1 ||
        a->rect.b0 != b->rect.b0 || a->rect.b1 != b->rect.b1)
        return false;
    if (!t->at || !u->at) return true; /* told already */
    for (int64_t r = 0; r < a->count; r++) {
        Place p = t->at[a->low + r], q = u->at[b->low + r];
        if (p.partition != q.partition || p.byte != q.byte) return false;
    }
    return true;
}

/* A copy whose two ends are one storage: it does nothing there. */
static bool is_elided(const Verification *run, const Running *side) {
    const Inst *inst = side->inst;
    if (!run->placed || inst->kind != OP_COPY || !is_transfer(inst) ||
        !meta_find(inst->meta, "elided"))
        return false;
    /* Of fixed tensors a mark may be stale: then it is a copy like any other. */
    const Tensor *tensors = run->match.result->tensors;
    return !run->overlaps ||
           (tensors[inst_dst(inst)->tensor].at && tensors[inst_src(inst)->tensor].at &&
            same_place(run, &side->accesses[0], &side->accesses[1]));
}

static void read_sources(Machine *machine, Running *side, uint64_t step, bool elided) {
    const Inst *inst = side->inst;
    for (uint32_t i = 0; i < inst->nsrc; i++)
        machine_read(machine, &side->accesses[inst->ndst + i], elided ? 0 : step,
                     &side->segments[i]);
    if (inst->accumulate)
        machine_read(machine, &side->accesses[0], step, &side->segments[inst->nsrc]);
}

static void drop_segments(Machine *machine, Running *side) {
    for (uint32_t i = 0; side->inst && i < side->inst->nsrc + side->inst->accumulate; i++)
        segments_drop(machine, &side->segments[i]);
}

/* True if source and destination have the same number of blocks and one size of rectangle. */
static bool same_extent(const MachineAccess *a, const MachineAccess *b) {
    return a->count == b->count && a->rect.p1 - a->rect.p0 == b->rect.p1 - b->rect.p0 &&
           a->rect.b1 - a->rect.b0 == b->rect.b1 - b->rect.b0;
}

static void tell_clash(Verification *run, uint32_t dst, uint32_t other) {
    const Inst *inst = run->is.inst;
    const Tensor *tensors = run->match.result->tensors;
    Span span = operand_span(inst, &inst->operands[dst]);
    const char *name = shown_name(run->arena, &tensors[run->is.accesses[dst].tensor]);
    note_overlap(run, run->is.accesses[other].tensor, run->is.accesses[dst].tensor);
    if (other == dst)
        diag_error(run->diags, span, "`%.*s` writes blocks of %s over each other%s", TEXT(inst->op),
                   name, where_text(run));
    else
        diag_error(run->diags, span, "`%.*s` writes %s over its own %s %s%s", TEXT(inst->op), name,
                   other < inst->ndst ? "destination" : "operand",
                   shown_name(run->arena, &tensors[run->is.accesses[other].tensor]),
                   where_text(run));
}

/* The write took storage of something that this instruction uses too: tells so if it is the very
 * part that is used. */
static void check_clash(Verification *run, uint32_t dst, bool clash) {
    const Running *is = &run->is;
    if (!clash) return;
    uint32_t count = is->inst->ndst + (is_elided(run, is) ? 0 : is->inst->nsrc);
    for (uint32_t i = 0; i < count; i++) {
        if (!accesses_meet(&run->result, &is->accesses[dst], &is->accesses[i])) continue;
        if (!first_time(run, is->number, is->inst->ndst + is->inst->nsrc + dst)) return;
        tell_clash(run, dst, i);
        return;
    }
}

/* What a transfer that changes the shape makes of what it read. */
static uint64_t reshaped_value(Verification *run, Machine *machine, const Running *side,
                               uint32_t inst, uint32_t tensor) {
    uint64_t fresh = run->norigins;
    uint64_t value = intern_transfer(&run->interned, machine, &side->segments[0],
                                     &side->accesses[1], &side->accesses[0], fresh);
    if (value == fresh) new_value(run, inst, tensor);
    return value;
}

static void transfer(Verification *run, Machine *machine, const Running *side,
                     const Running *source) {
    bool clash = machine_write_segments(machine, &side->accesses[0], &source->segments[0],
                                        source->accesses[1].rect, run->step, side->number);
    if (machine == &run->result) check_clash(run, 0, clash);
}

/* An instruction that only one side has. */
static void run_alone(Verification *run, Machine *machine, Running *side, uint32_t original_inst) {
    read_sources(machine, side, run->step, false);
    if (same_extent(&side->accesses[0], &side->accesses[1])) {
        transfer(run, machine, side, side);
    } else {
        uint32_t tensor = side->accesses[0].tensor;
        if (machine == &run->result) tensor = run->match.roles[tensor].original;
        uint64_t value = reshaped_value(run, machine, side, original_inst, tensor);
        machine_write(machine, &side->accesses[0], value, run->step, side->number);
    }
}

/* Tells where the result uses something that lies nowhere. */
static void check_has_places(Verification *run) {
    const Inst *inst = run->is.inst;
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
        const MachineAccess *access = &run->is.accesses[i];
        const Tensor *tensor = &run->match.result->tensors[access->tensor];
        bool home = run->match.roles[access->tensor].kind == ROLE_HOME;
        if (access->count == 0 ||
            (tensor->space == SPACE_SB ? tensor->at != NULL : !home || tensor->offset >= 0))
            continue;
        if (run->placeless[access->tensor] || !first_time(run, run->is.number, i)) continue;
        run->placeless[access->tensor] = true;
        diag_error(run->diags, operand_span(inst, &inst->operands[i]),
                   "`%.*s` uses %s, which has no place", TEXT(inst->op),
                   shown_name(run->arena, tensor));
    }
}

/* True if both name as many blocks, destinations and sources alike. */
static bool check_counts(Verification *run) {
    const Inst *inst = run->is.inst;
    for (uint32_t i = 0; i < inst->ndst + inst->nsrc; i++) {
        int64_t was = run->was.accesses[i].count, is = run->is.accesses[i].count;
        if (was == is) continue;
        if (first_time(run, run->is.number, i))
            diag_error(
                run->diags, operand_span(inst, &inst->operands[i]),
                "`%.*s` names %lld blocks of %s where the original names %lld%s", TEXT(inst->op),
                (long long)is,
                shown_name(run->arena, &run->match.result->tensors[run->is.accesses[i].tensor]),
                (long long)was, where_text(run));
        return false;
    }
    return true;
}

static bool compare_operands(Verification *run) {
    const Inst *inst = run->is.inst;
    bool same = true;
    for (uint32_t i = 0; i < inst->nsrc; i++)
        same &= compare_operand(run, inst->ndst + i, i);
    if (inst->accumulate) same &= compare_operand(run, 0, inst->nsrc);
    return same;
}

/* The first of `count` blocks that holds nothing at all, or -1. */
static int64_t first_empty(const Segments *segments, int64_t count) {
    int64_t at = 0;
    for (size_t i = 0; i < segments->count && segments->items[i].low <= at; i++)
        at = segments->items[i].high;
    return at < count ? at : -1;
}

/* Tells of an operand of the result whose tensor no instruction writes. */
static void tell_unwritten(Verification *run, uint32_t p, uint32_t i) {
    const Func *func = run->match.result;
    const Inst *inst = &func->insts[p];
    if (!first_time(run, p, i)) return;
    diag_error(run->diags, operand_span(inst, &inst->operands[i]),
               "`%.*s` reads %s, which nothing writes", TEXT(inst->op),
               shown_name(run->arena, &func->tensors[inst->operands[i].tensor]));
}

/* Tells of operand `i`, read as segments[s], where no instruction has written a block of it: where
 * that is a copy, of the reload that has brought nothing. */
static void check_operand_defined(Verification *run, uint32_t i, uint32_t s) {
    const Inst *inst = run->was.inst;
    const MachineAccess *access = &run->was.accesses[i];
    const Tensor *tensor = &run->match.original->tensors[access->tensor];
    if (tensor->input || tensor->space == SPACE_PSUM) return;
    int64_t empty = first_empty(&run->was.segments[s], access->count);
    if (empty < 0) return;
    if (run->hollow && run->hollow[access->tensor] != NO_INST) {
        tell_unwritten(run, run->hollow[access->tensor], 1);
        return;
    }
    if (!first_time(run, run->is.number, i)) return;
    const char *name = shown_name(run->arena, tensor);
    if (tensor->blocks > 1)
        name =
            str_format(run->arena, "block %lld of %s", (long long)(access->low + empty), name).text;
    diag_error(run->diags, operand_span(inst, &inst->operands[i]),
               "`%.*s` reads %s, which nothing has written%s", TEXT(inst->op), name,
               where_text(run));
}

/* What was inserted may move blocks that hold nothing yet: those that read them are looked at. */
static void check_defined(Verification *run) {
    const Inst *inst = run->was.inst;
    if (!run->defined || dma_is_inserted(inst)) return;
    for (uint32_t i = 0; i < inst->nsrc; i++)
        check_operand_defined(run, inst->ndst + i, i);
    if (inst->accumulate) check_operand_defined(run, 0, inst->nsrc);
}

static void check_elided_copy(Verification *run, bool elided) {
    if (!elided || same_place(run, &run->is.accesses[0], &run->is.accesses[1])) return;
    if (first_time(run, run->is.number, 0))
        diag_error(run->diags, run->is.inst->span,
                   "`copy` is marked `!elided` but its ends lie apart%s", where_text(run));
}

/* The same new value on both sides, for each destination. */
static void make_values(Verification *run) {
    const Inst *inst = run->was.inst;
    for (uint32_t i = 0; i < inst->ndst; i++) {
        uint64_t value = is_transfer(inst)
                             ? reshaped_value(run, &run->original, &run->was, run->was.number,
                                              run->was.accesses[i].tensor)
                             : new_value(run, run->was.number, run->was.accesses[i].tensor);
        machine_write(&run->original, &run->was.accesses[i], value, run->step, run->was.number);
        bool clash =
            machine_write(&run->result, &run->is.accesses[i], value, run->step, run->is.number);
        check_clash(run, i, clash);
    }
}

static void run_pair(Verification *run) {
    bool elided = is_elided(run, &run->is);
    read_sources(&run->original, &run->was, run->step, false);
    read_sources(&run->result, &run->is, run->step, elided);
    bool same = check_counts(run) && compare_operands(run);
    check_defined(run);
    check_elided_copy(run, elided);
    if (!is_transfer(run->was.inst) || !same_extent(&run->was.accesses[0], &run->was.accesses[1])) {
        make_values(run);
        return;
    }
    transfer(run, &run->original, &run->was, &run->was);
    /* A wrong value was told of; from here on it is taken to be right. */
    transfer(run, &run->result, &run->is, same ? &run->is : &run->was);
}

static uint32_t loop_of(const Verification *run, Step step) {
    return step.original != STEP_NONE ? run->match.original->insts[step.original].loop
                                      : run->match.result->insts[step.result].loop;
}

static void run_step(Verification *run, Step step) {
    run->step++;
    run->loop = loop_of(run, step);
    start_inst(run, &run->was, &run->original, run->match.original, step.original);
    start_inst(run, &run->is, &run->result, run->match.result, step.result);
    if (strays(run, &run->original, &run->was) || strays(run, &run->result, &run->is)) return;
    if (run->placed && run->is.inst && !run->overlaps) check_has_places(run);
    if (run->was.inst && run->is.inst)
        run_pair(run);
    else if (run->was.inst)
        run_alone(run, &run->original, &run->was, step.original);
    else if (run->is.inst)
        run_alone(run, &run->result, &run->is, ADDED);
    drop_segments(&run->original, &run->was);
    drop_segments(&run->result, &run->is);
}

/* --- The run --- */

/* Sets the loop's index for its iteration; false behind the last. */
static bool set_index(Verification *run, uint32_t loop) {
    const Loop *l = &run->match.original->loops[loop];
    const Course *course = &run->courses[loop];
    size_t trip = run->trip[loop];
    if (course->full) {
        if (trip == (uint64_t)(l->high - l->low)) return false;
        run->indices[loop] = l->low + (int64_t)trip;
        return true;
    }
    if (trip == course->count) return false;
    run->indices[loop] = course->list[trip];
    return true;
}

static bool runs_once(const Verification *run, uint32_t loop) {
    const Loop *l = &run->match.original->loops[loop];
    const Course *course = &run->courses[loop];
    return !course->skip && (course->full ? l->high - l->low == 1 : course->count == 1);
}

/* A loop of one iteration opens and closes here, once for all: deep nests of such would take most
 * of the run. */
static void drop_single_loops(Verification *run) {
    Step *steps = run->match.steps;
    size_t kept = 0;
    for (size_t i = 0; i < run->match.nsteps; i++) {
        bool bracket = steps[i].original == STEP_OPEN || steps[i].original == STEP_CLOSE;
        if (!bracket || !runs_once(run, steps[i].result))
            steps[kept++] = steps[i];
        else
            set_index(run, steps[i].result);
    }
    run->match.nsteps = kept;
}

/* The step behind the loop's closing bracket. */
static size_t *closings(const Verification *run) {
    size_t *closing = NEW_ARRAY(run->arena, size_t, run->match.original->nloops);
    for (size_t i = 0; i < run->match.nsteps; i++)
        if (run->match.steps[i].original == STEP_CLOSE) closing[run->match.steps[i].result] = i + 1;
    return closing;
}

static void run_all(Verification *run) {
    drop_single_loops(run);
    size_t *closing = closings(run);
    size_t *opening = NEW_ARRAY(run->arena, size_t, run->match.original->nloops);
    for (size_t at = 0; at < run->match.nsteps && !enough(run) && !run->strayed;) {
        Step step = run->match.steps[at++];
        if (step.original == STEP_OPEN) {
            uint32_t loop = step.result;
            run->trip[loop] = 0;
            opening[loop] = at;
            if (run->courses[loop].skip || !set_index(run, loop)) at = closing[loop];
        } else if (step.original == STEP_CLOSE) {
            uint32_t loop = step.result;
            run->trip[loop]++;
            if (set_index(run, loop)) at = opening[loop];
        } else {
            run_step(run, step);
        }
    }
}

/* Inputs have one value each, the same on both sides. */
static void enter(Verification *run) {
    const Func *original = run->match.original;
    for (uint32_t i = 0; i < original->ntensors; i++) {
        if (!original->tensors[i].input) continue;
        uint64_t value = new_value(run, NO_INST, i);
        MachineAccess was = machine_all(&run->original, i);
        MachineAccess is = machine_all(&run->result, run->match.twin[i]);
        machine_write(&run->original, &was, value, 0, NO_INST);
        machine_write(&run->result, &is, value, 0, NO_INST);
    }
}

static void compare_outputs(Verification *run) {
    const Func *original = run->match.original;
    run->loop = NO_LOOP;
    run->is.inst = NULL;
    for (uint32_t i = 0; i < original->ntensors && !enough(run); i++) {
        if (!original->tensors[i].output) continue;
        MachineAccess was = machine_all(&run->original, i);
        MachineAccess is = machine_all(&run->result, run->match.twin[i]);
        machine_read(&run->original, &was, 0, &run->was.segments[0]);
        machine_read(&run->result, &is, 0, &run->is.segments[0]);
        Difference difference;
        int64_t block;
        if (!segments_agree(run, &run->was.segments[0], &run->is.segments[0], was.rect, &difference,
                            &block) &&
            first_time(run, NO_INST, i))
            tell_difference(run, run->match.result->tensors[is.tensor].span, "the function returns",
                            is.tensor, block, difference);
        segments_drop(&run->original, &run->was.segments[0]);
        segments_drop(&run->result, &run->is.segments[0]);
    }
}

static void find_twins(Verification *run) {
    run->twin_inst = RAW_ARRAY(run->arena, uint32_t, run->match.original->ninsts);
    memset(run->twin_inst, 0xFF, run->match.original->ninsts * sizeof(uint32_t));
    for (size_t i = 0; i < run->match.nsteps; i++) {
        Step step = run->match.steps[i];
        if (step.original < STEP_CLOSE) run->twin_inst[step.original] = step.result;
    }
}

static void execute(Verification *run, VerifyOptions options) {
    uint32_t nloops = run->match.original->nloops;
    uint64_t limit = options.step_limit ? options.step_limit : STEP_LIMIT;
    run->courses = choose_courses(&run->match, limit, run->arena);
    run->trip = NEW_ARRAY(run->arena, size_t, nloops);
    run->indices = NEW_ARRAY(run->arena, int64_t, nloops);
    run->loop = NO_LOOP;
    run->placed = options.placed;
    run->defined = options.defined;
    run->placeless = NEW_ARRAY(run->arena, bool, run->match.result->ntensors);
    plane_pool_init(&run->storage.planes, run->arena);
    extent_pool_init(&run->storage.extents, run->arena, &run->storage.planes);
    run->storage.arena = run->arena;
    machine_init(&run->original, run->match.original, &run->storage, false, false);
    machine_init(&run->result, run->match.result, &run->storage, options.placed, true);
    interned_init(&run->interned, run->arena);
    reserve(run, &run->was, 1);
    reserve(run, &run->is, 1);
    find_twins(run);
    new_value(run, NO_INST, 0); /* NO_VALUE */
    enter(run);
    run_all(run);
    if (!run->strayed) compare_outputs(run);
}

static bool *find_written(const Verification *run) {
    const Func *func = run->match.result;
    bool *written = NEW_ARRAY(run->arena, bool, func->ntensors);
    for (uint32_t i = 0; i < func->ntensors; i++)
        written[i] = func->tensors[i].input || func->tensors[i].space == SPACE_PSUM;
    for (uint32_t p = 0; p < func->ninsts; p++)
        for (uint32_t i = 0; i < func->insts[p].ndst; i++)
            written[func->insts[p].operands[i].tensor] = true;
    return written;
}

/* True for a reload into a copy of which the run tells where something reads that it holds nothing.
 */
static bool is_told_by_readers(const Verification *run, const Inst *inst) {
    if (!run->hollow || !dma_is_reload(inst) || !is_transfer(inst)) return false;
    const Tensor *copy = &run->match.result->tensors[inst_dst(inst)->tensor];
    return copy->space == SPACE_SB && !copy->input && !copy->output;
}

/* Reads of what no instruction writes: the run lets both sides read nothing, so that this is all
 * that tells of a home whose store is missing where there is no original to compare with. One that
 * never runs needs no store, nor does a reload that only serves reads that never run. */
static void check_written(Verification *run) {
    const Func *func = run->match.result;
    const bool *written = find_written(run);
    for (uint32_t p = 0; p < func->ninsts && !enough(run); p++) {
        const Inst *inst = &func->insts[p];
        for (uint32_t i = inst->ndst; i < inst->ndst + inst->nsrc; i++) {
            const Operand *operand = &inst->operands[i];
            if (written[operand->tensor] || inst_moves(func, inst, operand) == 0) continue;
            if (is_told_by_readers(run, inst))
                run->hollow[inst_dst(inst)->tensor] = p;
            else
                tell_unwritten(run, p, i);
        }
    }
}

/* No copy is known to hold nothing. */
static uint32_t *no_hollow(Verification *run) {
    uint32_t *hollow = RAW_ARRAY(run->arena, uint32_t, run->match.result->ntensors);
    for (uint32_t t = 0; t < run->match.result->ntensors; t++)
        hollow[t] = NO_INST;
    return hollow;
}

bool verify(const Func *original, const Func *result, const Target *target, VerifyOptions options,
            DiagQueue *diags) {
    Arena arena;
    arena_init(&arena);
    Verification run = {.arena = &arena, .diags = diags};
    uint32_t before = diags->errors;
    bool ok = match_functions(&run.match, original, result, &arena, diags);
    ok = ok && check_places(&run.match, target, options.placed, &arena, diags);
    if (ok && original == result && options.defined) run.hollow = no_hollow(&run);
    if (ok && original == result) check_written(&run);
    if (ok) execute(&run, options);
    arena_free(&arena);
    return diags->errors == before;
}

uint32_t verify_fixed(const Func *func, FixedOverlap found[MOST_OVERLAPS]) {
    Arena arena;
    DiagQueue unheard;
    arena_init(&arena);
    diag_init(&unheard, &arena);
    Verification run = {.arena = &arena, .diags = &unheard, .overlaps = found};
    if (match_functions(&run.match, func, func, &arena, &unheard))
        execute(&run, (VerifyOptions){.placed = true});
    arena_free(&arena);
    return run.noverlaps;
}
