#include "analysis/live.h"

#include <assert.h>

#include "analysis/access.h"
#include "support/checked.h"
#include "support/search.h"
#include "support/sort.h"

/* How a live range is found.
 *
 * Loops run at least once and nothing branches, so control flow is one straight line with back
 * edges. Let e(0), e(1), ... be the accesses of one block in order. A point between e(j) and
 * e(j + 1) is live if the next access that reads or kills is a read; else, if a loop around the
 * point ends before that access and its first access that reads or kills is a read: the value goes
 * round that loop's back edge. Nothing is live before the first write, or before the outermost loop
 * around it.
 *
 * Where every access to a block inside a loop happens in a known iteration of it (its index runs
 * over the blocks one by one), the loop is no loop for that block: its accesses are put in order of
 * execution, and what the other iterations pass is live with the gap that they fall in. Such a loop
 * is called resolved. */

enum { MOST_DETERMINED = 8, WIDEST_SOLVED = 64 };
static const int64_t MOST_EVENTS = 1 << 22;

/* An access runs for this block only in that iteration of a loop. */
typedef struct {
    uint32_t loop;
    int64_t iteration;
} Determined;

/* One access to one block. */
typedef struct {
    uint32_t point, loop;
    const Operand *operand;
    bool sure; /* names the block whenever it runs */
    bool reads, kills, writes;
    bool covers; /* would kill, but for its condition or index: it does for reads under the same */
    bool served; /* a read that such a write, `server`, comes before: no older value reaches it */
    uint32_t server;
    uint32_t ndetermined;
    Determined determined[MOST_DETERMINED]; /* outermost first */
} Event;

/* Facts of one loop about the block at hand; valid where its stamp is the current one. */
typedef struct {
    uint32_t stamp;
    bool undetermined; /* some access in it runs in every iteration */
    bool reads_first;  /* the first access that reads or kills is a read, in some run of it */
    uint32_t first_stamp;
    size_t first; /* event: that access, of the last run looked at */
} LoopFact;

typedef struct {
    const Func *func;
    Accesses accesses;
    Arena *arena;    /* of the result */
    Arena scratch;   /* of one tensor */
    LoopFact *facts; /* [nloops] */
    uint32_t stamp;
    Event *events;
    size_t nevents, event_capacity;
    bool any_covers;
    bool any_determined; /* some event of the block has a determined loop */
    Interval *found;     /* of the block at hand, in any order */
    size_t nfound, found_capacity;
    uint32_t reached; /* no point before this is live */
    bool *needed;     /* [ninsts] or NULL: the instruction's write is needed later */
} Pass;

bool live_overlap(LiveRange a, LiveRange b) {
    uint32_t i = 0, j = 0;
    while (i < a.count && j < b.count) {
        if (a.items[i].last < b.items[j].first)
            i++;
        else if (b.items[j].last < a.items[i].first)
            j++;
        else
            return true;
    }
    return false;
}

LiveRange live_union(LiveRange a, LiveRange b, Arena *arena) {
    Interval *items = RAW_ARRAY(arena, Interval, (size_t)a.count + b.count);
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < a.count || j < b.count;) {
        bool first = j == b.count || (i < a.count && a.items[i].first <= b.items[j].first);
        Interval next = first ? a.items[i++] : b.items[j++];
        if (count > 0 && next.first <= items[count - 1].last + 1) {
            if (next.last > items[count - 1].last) items[count - 1].last = next.last;
        } else {
            items[count++] = next;
        }
    }
    return (LiveRange){items, count};
}

LiveRange live_block(const Live *live, uint32_t tensor, int64_t block) {
    return live->blocks[tensor] ? live->blocks[tensor][block] : live->whole[tensor];
}

/* ---- which iteration touches a block ---- */

/* A loop's part of an index, turned so that it counts up from 0. */
typedef struct {
    uint32_t loop;
    int64_t step, trips;
    bool descends;
} Digit;

/* The index as digits of a mixed radix number, largest step first; false where two iterations can
 * give the same block. *base is the least value. */
static bool index_digits(const Func *func, Affine index, Digit *digits, uint32_t *count,
                         int64_t *base) {
    *count = 0;
    *base = affine_offset(index);
    for (uint32_t i = 0; i < index.count; i++) {
        uint32_t loop = index.terms[i].loop;
        bool seen = loop == NO_LOOP;
        for (uint32_t d = 0; d < *count; d++)
            seen |= digits[d].loop == loop;
        int64_t step = seen ? 0 : affine_coefficient(index, loop);
        if (step == 0) continue;
        if (*count == MOST_DETERMINED) return false;
        const Loop *info = &func->loops[loop];
        bool descends = step < 0;
        *base = saturating_add(*base, saturating_mul(step, descends ? info->high - 1 : info->low));
        uint32_t d = (*count)++;
        Digit digit = {loop, descends ? -step : step, info->high - info->low, descends};
        for (; d > 0 && digits[d - 1].step < digit.step; d--)
            digits[d] = digits[d - 1];
        digits[d] = digit;
    }
    int64_t below = 0;
    for (uint32_t d = *count; d-- > 0;) {
        if (digits[d].step <= below) return false;
        below = saturating_add(below, saturating_mul(digits[d].step, digits[d].trips - 1));
    }
    /* Sums that differ by less than the modulus have remainders of their own. */
    return index.modulus == 0 || below < index.modulus;
}

/* The iterations in which the digits make `value` above their base; false if none do. */
static bool solve_digits(const Func *func, const Digit *digits, uint32_t count, int64_t value,
                         Determined *solution) {
    if (value < 0) return false;
    for (uint32_t d = 0; d < count; d++) {
        int64_t turn = value / digits[d].step;
        if (turn >= digits[d].trips) return false;
        value -= turn * digits[d].step;
        const Loop *loop = &func->loops[digits[d].loop];
        solution[d] = (Determined){digits[d].loop,
                                   digits[d].descends ? loop->high - 1 - turn : loop->low + turn};
    }
    return value == 0;
}

static void sort_determined(Determined *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        Determined moved = items[i];
        uint32_t j = i;
        for (; j > 0 && items[j - 1].loop > moved.loop; j--)
            items[j] = items[j - 1];
        items[j] = moved;
    }
}

/* How an operand's index finds blocks; made once an operand, asked once a block. */
typedef struct {
    BlockSpan span;  /* blocks that it can name */
    bool solvable;   /* each block is named in one iteration at most */
    int64_t modulus; /* of the index, 0 if it has none */
    Digit digits[MOST_DETERMINED];
    uint32_t ndigits;
    int64_t base, width; /* of solvable ones: first block is base + digits, so many blocks */
} Finder;

static Finder make_finder(const Func *func, const Operand *operand, Arena *scratch) {
    Finder finder = {.span = operand_blocks(func, operand), .width = 1};
    if (finder.span.exact) return finder;
    const Blocks *blocks = operand->blocks;
    if (blocks->kind == BLOCKS_RANGE) {
        Affine width = affine_difference(scratch, blocks->high, blocks->low);
        if (!affine_is_constant(width, func, &finder.width) || finder.width > WIDEST_SOLVED)
            return finder;
    }
    finder.modulus = blocks->low.modulus;
    finder.solvable = index_digits(func, blocks->low, finder.digits, &finder.ndigits, &finder.base);
    return finder;
}

typedef enum { NEVER, ANY_ITERATION, IN_ONE_ITERATION } Touch;

static Touch find_touch(const Func *func, const Finder *finder, int64_t block,
                        Determined *solution) {
    if (block < finder->span.first || block > finder->span.last) return NEVER;
    if (finder->span.exact || !finder->solvable) return ANY_ITERATION;
    uint32_t ways = 0;
    for (int64_t d = 0; d < finder->width; d++) {
        Determined one[MOST_DETERMINED];
        int64_t value = saturating_sub(block - d, finder->base);
        if (finder->modulus) value = floor_mod(value, finder->modulus);
        if (!solve_digits(func, finder->digits, finder->ndigits, value, one)) continue;
        ways++;
        for (uint32_t i = 0; i < finder->ndigits; i++)
            solution[i] = one[i];
    }
    if (ways == 0) return NEVER;
    return ways == 1 ? IN_ONE_ITERATION : ANY_ITERATION;
}

/* ---- events of a block ---- */

static LoopFact *loop_fact(Pass *pass, uint32_t loop) {
    LoopFact *fact = &pass->facts[loop];
    if (fact->stamp != pass->stamp) *fact = (LoopFact){.stamp = pass->stamp};
    return fact;
}

static bool is_resolved(Pass *pass, uint32_t loop) {
    return !loop_fact(pass, loop)->undetermined;
}

/* Marks the loops around an event in which it runs every time. */
static void mark_loops(Pass *pass, const Event *event) {
    for (uint32_t loop = event->loop; loop != NO_LOOP; loop = pass->func->loops[loop].parent) {
        bool determined = false;
        for (uint32_t i = 0; i < event->ndetermined; i++)
            determined |= event->determined[i].loop == loop;
        if (determined) continue;
        LoopFact *fact = loop_fact(pass, loop);
        if (fact->undetermined && !pass->any_determined) return; /* so is all the chain above */
        fact->undetermined = true;
    }
}

static void add_event(Pass *pass, Access access, const Finder *finder, int64_t block) {
    const Func *func = pass->func;
    const Inst *inst = &func->insts[access.inst];
    const Operand *operand = &inst->operands[access.operand];
    Event event = {.point = access.inst, .loop = inst->loop, .operand = operand};
    bool surely = true;
    if (finder) {
        switch (find_touch(func, finder, block, event.determined)) {
        case NEVER:
            return;
        case ANY_ITERATION:
            surely = finder->span.exact;
            break;
        case IN_ONE_ITERATION:
            event.ndetermined = finder->ndigits;
            sort_determined(event.determined, event.ndetermined);
            break;
        }
    }
    event.sure = surely;
    event.reads = access_reads(func, access);
    event.writes = access_writes(func, access);
    bool whole = event.writes && !inst->accumulate && operand_is_whole(func, operand);
    event.kills = whole && surely && !inst->condition;
    event.covers = whole && !event.kills;
    pass->any_determined |= event.ndetermined > 0;
    pass->any_covers |= event.covers;
    PUSH(pass->arena, pass->events, pass->nevents, pass->event_capacity, event);
}

/* A loop that one access sees in one iteration only and another in all stays a loop: for the first
 * it is then a matter of chance whether it runs, and its write kills nothing. */
static void settle_kills(Pass *pass) {
    for (size_t i = 0; i < pass->nevents; i++) {
        Event *event = &pass->events[i];
        for (uint32_t d = 0; d < event->ndetermined && event->kills; d++) {
            if (is_resolved(pass, event->determined[d].loop)) continue;
            event->kills = false;
            event->covers = pass->any_covers = true;
        }
    }
}

/* The iteration of a resolved loop in which an event inside it runs. */
static int64_t iteration_of(const Event *event, uint32_t loop) {
    for (uint32_t i = 0; i < event->ndetermined; i++)
        if (event->determined[i].loop == loop) return event->determined[i].iteration;
    assert(false);
    return 0;
}

/* The outermost resolved loop around both whose iterations differ, or NO_LOOP. */
static uint32_t diverging_loop(Pass *pass, const Event *a, const Event *b) {
    for (uint32_t i = 0; i < a->ndetermined; i++) {
        Determined one = a->determined[i];
        if (is_resolved(pass, one.loop) && loop_encloses(pass->func, one.loop, b->loop) &&
            iteration_of(b, one.loop) != one.iteration)
            return one.loop;
    }
    return NO_LOOP;
}

static bool runs_before(Pass *pass, const Event *a, const Event *b) {
    uint32_t loop = diverging_loop(pass, a, b);
    if (loop != NO_LOOP) return iteration_of(a, loop) < iteration_of(b, loop);
    if (a->point != b->point) return a->point < b->point;
    return a->reads && !b->reads; /* an instruction reads, then writes */
}

/* Puts events in order of execution. They come by point, so that this is linear but inside resolved
 * loops. */
static void order_events(Pass *pass) {
    for (size_t i = 1; i < pass->nevents; i++) {
        Event moved = pass->events[i];
        size_t j = i;
        for (; j > 0 && runs_before(pass, &moved, &pass->events[j - 1]); j--)
            pass->events[j] = pass->events[j - 1];
        pass->events[j] = moved;
    }
}

/* ---- points between two events ---- */

static void add_points(Pass *pass, uint32_t first, uint32_t last) {
    if (first < pass->reached) first = pass->reached;
    if (first > last) return;
    if (pass->nfound > 0) {
        Interval *newest = &pass->found[pass->nfound - 1];
        if (first >= newest->first && first <= newest->last + 1) {
            if (last > newest->last) newest->last = last;
            return;
        }
    }
    Interval interval = {first, last};
    PUSH(pass->arena, pass->found, pass->nfound, pass->found_capacity, interval);
}

static void add_loop_points(Pass *pass, uint32_t loop) {
    const Loop *info = &pass->func->loops[loop];
    if (info->end > info->first) add_points(pass, info->first, info->end - 1);
}

/* Resolved loops around `from`, inside `stop`: what their later iterations pass. */
static void add_later_iterations(Pass *pass, const Event *from, uint32_t stop) {
    for (uint32_t i = 0; i < from->ndetermined; i++) {
        Determined one = from->determined[i];
        if (is_resolved(pass, one.loop) && one.loop != stop &&
            loop_encloses(pass->func, stop, one.loop) &&
            one.iteration < pass->func->loops[one.loop].high - 1)
            add_loop_points(pass, one.loop);
    }
}

static void add_earlier_iterations(Pass *pass, const Event *to, uint32_t stop) {
    for (uint32_t i = 0; i < to->ndetermined; i++) {
        Determined one = to->determined[i];
        if (is_resolved(pass, one.loop) && one.loop != stop &&
            loop_encloses(pass->func, stop, one.loop) &&
            one.iteration > pass->func->loops[one.loop].low)
            add_loop_points(pass, one.loop);
    }
}

/* Everything that execution passes from one event to the next. */
static void add_gap(Pass *pass, const Event *from, const Event *to) {
    const Func *func = pass->func;
    uint32_t apart = diverging_loop(pass, from, to);
    if (apart == NO_LOOP) {
        uint32_t common = loop_common(func, from->loop, to->loop);
        add_points(pass, from->point, to->point);
        add_later_iterations(pass, from, common);
        add_earlier_iterations(pass, to, common);
        return;
    }
    const Loop *loop = &func->loops[apart];
    if (iteration_of(to, apart) > iteration_of(from, apart) + 1) {
        add_loop_points(pass, apart);
    } else {
        add_points(pass, from->point, loop->end - 1);
        add_points(pass, loop->first, to->point);
    }
    add_later_iterations(pass, from, apart);
    add_earlier_iterations(pass, to, apart);
}

/* ---- liveness ---- */

/* True if the run of `loop` around `event` also holds `other`. */
static bool holds_both(Pass *pass, uint32_t loop, const Event *event, const Event *other) {
    if (!loop_encloses(pass->func, loop, other->loop)) return false;
    for (uint32_t i = 0; i < event->ndetermined; i++) {
        Determined one = event->determined[i];
        if (is_resolved(pass, one.loop) && loop_encloses(pass->func, one.loop, loop) &&
            iteration_of(other, one.loop) != one.iteration)
            return false;
    }
    return true;
}

/* Notes for each unresolved loop whether its first access that reads or kills is a read. A loop
 * inside a resolved one runs anew in each iteration of that: it is enough if one run begins with a
 * read. */
static void find_first_accesses(Pass *pass) {
    for (size_t i = 0; i < pass->nevents; i++) {
        const Event *event = &pass->events[i];
        if ((!event->reads || event->served) && !event->kills) continue;
        for (uint32_t loop = event->loop; loop != NO_LOOP; loop = pass->func->loops[loop].parent) {
            LoopFact *fact = loop_fact(pass, loop);
            if (fact->first_stamp == pass->stamp) {
                if (!pass->any_determined) break; /* the chain above is known too */
                if (holds_both(pass, loop, &pass->events[fact->first], event)) continue;
                fact->first = i;
                fact->reads_first |= event->reads;
                continue;
            }
            fact->first_stamp = pass->stamp;
            fact->first = i;
            fact->reads_first = event->reads;
        }
    }
}

/* The outermost loop around `event` that ends before `next` (NULL: nothing comes) and whose back
 * edge leads to a read; NO_LOOP if none. */
static uint32_t looping_read(Pass *pass, const Event *event, const Event *next) {
    uint32_t outermost = NO_LOOP;
    for (uint32_t loop = event->loop; loop != NO_LOOP; loop = pass->func->loops[loop].parent) {
        if (next && holds_both(pass, loop, event, next)) break;
        const LoopFact *fact = loop_fact(pass, loop);
        if (fact->undetermined && fact->first_stamp == pass->stamp && fact->reads_first)
            outermost = loop;
    }
    return outermost;
}

/* True if the write runs in all iterations in which the read does: its loops stand where the read's
 * do. */
static bool runs_whenever(const Event *write, const Event *read) {
    for (uint32_t i = 0; i < write->ndetermined; i++) {
        bool same = false;
        for (uint32_t j = 0; j < read->ndetermined; j++)
            same |= read->determined[j].loop == write->determined[i].loop &&
                    read->determined[j].iteration == write->determined[i].iteration;
        if (!same) return false;
    }
    return true;
}

/* True if a write hits the block in all iterations in which a later read does. */
static bool serves(Pass *pass, const Event *write, const Event *read) {
    if (write->loop != read->loop || !runs_whenever(write, read) ||
        diverging_loop(pass, write, read) != NO_LOOP ||
        (!write->sure && !blocks_equal(write->operand->blocks, read->operand->blocks)))
        return false;
    return condition_equal(pass->func->insts[write->point].condition,
                           pass->func->insts[read->point].condition);
}

/* Finds for each read the nearest write before it that serves it, among so many. */
static void find_servers(Pass *pass) {
    enum { LOOKED_AT = 64 };
    if (!pass->any_covers) return;
    for (size_t i = 0; i < pass->nevents; i++) {
        Event *read = &pass->events[i];
        if (!read->reads || read->kills) continue;
        for (size_t back = 1; back <= i && back <= LOOKED_AT && !read->served; back++) {
            const Event *write = &pass->events[i - back];
            read->served = write->covers && serves(pass, write, read);
            read->server = (uint32_t)(i - back);
        }
    }
}

/* The next access from position i on that kills, or reads what is there before it; NULL where none
 * comes. A read that is served counts only behind the write that serves it. */
static const Event **next_accesses(Pass *pass, Arena *scratch) {
    const Event **next = RAW_ARRAY(scratch, const Event *, pass->nevents + 1);
    next[pass->nevents] = NULL;
    for (size_t i = pass->nevents; i-- > 0;) {
        const Event *event = &pass->events[i];
        next[i] = event->reads || event->kills ? event : next[i + 1];
        while (next[i] && next[i]->served && next[i]->server >= i)
            next[i] = next[next[i] - pass->events + 1];
    }
    return next;
}

/* Nothing is live before the first write, or the outermost loop around it. */
static uint32_t first_reached(Pass *pass, bool input) {
    if (input) return 0;
    uint32_t reached = UINT32_MAX;
    for (size_t i = 0; i < pass->nevents; i++) {
        if (!pass->events[i].writes) continue;
        uint32_t begin = pass->events[i].point;
        for (uint32_t loop = pass->events[i].loop; loop != NO_LOOP;
             loop = pass->func->loops[loop].parent)
            begin = pass->func->loops[loop].first;
        if (begin < reached) reached = begin;
        if (pass->events[i].ndetermined == 0) break;
    }
    return reached;
}

/* The part of the gap behind `event` that is live because a loop around it goes on. */
static void add_loop_tail(Pass *pass, const Event *event, const Event *next) {
    uint32_t loop = looping_read(pass, event, next);
    if (loop == NO_LOOP) return;
    add_points(pass, event->point, pass->func->loops[loop].end - 1);
    add_later_iterations(pass, event, loop);
}

/* The part of the gap before `event` that a loop's later iterations pass. */
static void add_loop_head(Pass *pass, const Event *event, const Event *next) {
    uint32_t loop = looping_read(pass, event, next);
    if (loop == NO_LOOP) return;
    add_points(pass, pass->func->loops[loop].first, event->point);
    add_earlier_iterations(pass, event, loop);
}

/* Points before the first event: live if it is a read or passes on to one. */
static void add_entry(Pass *pass, const Event **next, bool input, bool output) {
    const Event *first = &pass->events[0];
    bool to_read = next[0] ? next[0]->reads : output;
    if (!to_read) {
        add_loop_head(pass, first, next[0]);
        return;
    }
    if (input || pass->reached <= first->point) {
        add_points(pass, 0, first->point);
        add_earlier_iterations(pass, first, NO_LOOP);
    }
}

static void add_exit(Pass *pass, bool output) {
    const Event *last = &pass->events[pass->nevents - 1];
    if (!output) {
        add_loop_tail(pass, last, NULL);
        return;
    }
    add_points(pass, last->point, pass->func->ninsts - 1);
    add_later_iterations(pass, last, NO_LOOP);
}

/* Notes whether what an event writes is read by the next access or round a back edge. */
static void note_need(Pass *pass, const Event *event, const Event *next, bool output) {
    if (!pass->needed || !event->writes) return;
    bool read_next = next ? next->reads : output;
    if (read_next || looping_read(pass, event, next) != NO_LOOP) pass->needed[event->point] = true;
}

static void find_points(Pass *pass, const Tensor *tensor) {
    pass->nfound = 0;
    if (tensor->input && pass->func->ninsts > 0) {
        pass->reached = 0;
        add_points(pass, 0, 0);
    }
    if (pass->nevents == 0) {
        if (tensor->input && tensor->output && pass->func->ninsts > 0)
            add_points(pass, 0, pass->func->ninsts - 1);
        return;
    }
    settle_kills(pass);
    order_events(pass);
    find_servers(pass);
    const Event **next = next_accesses(pass, &pass->scratch);
    find_first_accesses(pass);
    pass->reached = first_reached(pass, tensor->input);
    add_entry(pass, next, tensor->input, tensor->output);
    for (size_t i = 0; i < pass->nevents; i++) {
        const Event *event = &pass->events[i];
        uint32_t reached = pass->reached;
        pass->reached = 0;
        add_points(pass, event->point, event->point);
        pass->reached = reached;
        note_need(pass, event, next[i + 1], tensor->output);
        if (i + 1 == pass->nevents) break;
        const Event *following = &pass->events[i + 1];
        bool to_read = next[i + 1] ? next[i + 1]->reads : tensor->output;
        if (to_read) {
            add_gap(pass, event, following);
        } else {
            add_loop_tail(pass, event, next[i + 1]);
            add_loop_head(pass, following, next[i + 1]);
        }
    }
    add_exit(pass, tensor->output);
}

/* The found intervals in order and joined, in the result's arena. */
static LiveRange gather(Pass *pass) {
    if (pass->nfound == 0) return (LiveRange){NULL, 0};
    bool sorted = true;
    for (size_t i = 1; i < pass->nfound; i++)
        sorted &= pass->found[i - 1].last < pass->found[i].first;
    Interval *items = RAW_ARRAY(pass->arena, Interval, pass->nfound);
    if (sorted) {
        for (size_t i = 0; i < pass->nfound; i++)
            items[i] = pass->found[i];
    } else {
        SortKey *keys = RAW_ARRAY(&pass->scratch, SortKey, pass->nfound);
        for (size_t i = 0; i < pass->nfound; i++)
            keys[i] = (SortKey){pass->found[i].first, (uint32_t)i};
        sort_keys(keys, pass->nfound, &pass->scratch);
        for (size_t i = 0; i < pass->nfound; i++)
            items[i] = pass->found[keys[i].id];
    }
    uint32_t count = 1;
    for (size_t i = 1; i < pass->nfound; i++) {
        if (items[i].first <= items[count - 1].last + 1) {
            if (items[i].last > items[count - 1].last) items[count - 1].last = items[i].last;
        } else {
            items[count++] = items[i];
        }
    }
    return (LiveRange){items, count};
}

/* Makes the events of one block (or of all alike, without finders) and turns them into points. */
static LiveRange range_of(Pass *pass, uint32_t tensor, const Finder *finders, int64_t block) {
    uint32_t first = pass->accesses.first[tensor], end = pass->accesses.first[tensor + 1];
    pass->nevents = 0;
    pass->any_determined = pass->any_covers = false;
    pass->stamp++;
    for (uint32_t a = first; a < end; a++)
        add_event(pass, pass->accesses.items[a], finders ? &finders[a - first] : NULL, block);
    for (size_t i = 0; i < pass->nevents; i++)
        mark_loops(pass, &pass->events[i]);
    find_points(pass, &pass->func->tensors[tensor]);
    return gather(pass);
}

/* True if all operands name all blocks, so that one range serves all. */
static bool blocks_are_alike(Pass *pass, uint32_t tensor) {
    const Func *func = pass->func;
    const Tensor *info = &func->tensors[tensor];
    for (uint32_t a = pass->accesses.first[tensor]; a < pass->accesses.first[tensor + 1]; a++) {
        Access access = pass->accesses.items[a];
        const Operand *operand = &func->insts[access.inst].operands[access.operand];
        if (!operand->blocks) continue;
        BlockSpan span = operand_blocks(func, operand);
        if (!span.exact || span.first > 0 || span.last < info->blocks - 1) return false;
    }
    return true;
}

/* Where blocks times accesses would be too many: every index may name any block. */
static LiveRange coarse_range(Pass *pass, uint32_t tensor) {
    pass->nevents = 0;
    pass->any_determined = pass->any_covers = false;
    pass->stamp++;
    for (uint32_t a = pass->accesses.first[tensor]; a < pass->accesses.first[tensor + 1]; a++) {
        Finder any = {.span = {0, 0, false}};
        add_event(pass, pass->accesses.items[a], &any, 0);
    }
    for (size_t i = 0; i < pass->nevents; i++)
        mark_loops(pass, &pass->events[i]);
    find_points(pass, &pass->func->tensors[tensor]);
    return gather(pass);
}

static LiveRange unite(Pass *pass, const LiveRange *ranges, int64_t count) {
    pass->nfound = 0;
    pass->reached = 0;
    for (int64_t b = 0; b < count; b++)
        for (uint32_t i = 0; i < ranges[b].count; i++)
            add_points(pass, ranges[b].items[i].first, ranges[b].items[i].last);
    return gather(pass);
}

static void tensor_ranges(Pass *pass, uint32_t tensor, Live *live) {
    const Func *func = pass->func;
    int64_t blocks = func->tensors[tensor].blocks;
    if (blocks_are_alike(pass, tensor)) {
        live->whole[tensor] = range_of(pass, tensor, NULL, 0);
        return;
    }
    uint32_t first = pass->accesses.first[tensor];
    uint32_t count = pass->accesses.first[tensor + 1] - first;
    if (saturating_mul(blocks, count) > MOST_EVENTS) {
        live->whole[tensor] = coarse_range(pass, tensor);
        return;
    }
    Finder *finders = RAW_ARRAY(&pass->scratch, Finder, count);
    for (uint32_t a = 0; a < count; a++) {
        Access access = pass->accesses.items[first + a];
        finders[a] =
            make_finder(func, &func->insts[access.inst].operands[access.operand], &pass->scratch);
    }
    LiveRange *ranges = NEW_ARRAY(pass->arena, LiveRange, (size_t)blocks);
    for (int64_t b = 0; b < blocks; b++)
        ranges[b] = range_of(pass, tensor, finders, b);
    live->whole[tensor] = unite(pass, ranges, blocks);
    if (live->whole[tensor].count == 0)
        live->whole[tensor] =
            coarse_range(pass, tensor); /* no index ever hits: it needs a place yet */
    else if (blocks > 1)
        live->blocks[tensor] = ranges;
}

Live live_range_of(const Func *func, Arena *arena, const bool *wanted, bool *needed) {
    Live live = {NEW_ARRAY(arena, LiveRange, func->ntensors),
                 NEW_ARRAY(arena, LiveRange *, func->ntensors)};
    Arena work;
    arena_init(&work);
    Pass pass = {
        .func = func, .arena = arena, .needed = needed, .accesses = find_accesses(func, &work)};
    pass.facts = NEW_ARRAY(&work, LoopFact, func->nloops);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!wanted[t]) continue;
        tensor_ranges(&pass, t, &live);
        arena_reset(&pass.scratch);
    }
    arena_free(&pass.scratch);
    arena_free(&work);
    return live;
}

Live live_range(const Func *func, Arena *arena) {
    return live_range_and_needs(func, arena, NULL);
}

Live live_range_and_needs(const Func *func, Arena *arena, bool *needed) {
    bool *wanted = NEW_ARRAY(arena, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        wanted[t] = func->tensors[t].space == SPACE_SB;
    return live_range_of(func, arena, wanted, needed);
}

bool live_at(LiveRange range, uint32_t point) {
    uint32_t at;
    FIND_FIRST(at, 0, range.count, range.items[at].last >= point);
    return at < range.count && range.items[at].first <= point;
}
