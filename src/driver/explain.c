#include "driver/explain.h"

#include <inttypes.h>
#include <math.h>

#include "driver/report.h"
#include "ir/dma.h"
#include "ir/runs.h"
#include "place/capacity.h"
#include "place/cost.h"
#include "support/sort.h"
#include "support/writer.h"
#include "text/print.h"

/* Of long lists the first are told, and how many more there are. */
enum { MOST_LISTED = 8 };

/* What is known of the function before anything was spilled, and where it went. */
typedef struct {
    const Explained *about;
    Arena *arena;
    Live live; /* of about->func */
    Nodes nodes;
    Leaving leaving;    /* of about->result->func */
    uint32_t *moved_to; /* [ninsts of about->func] its point in the result; UINT32_MAX: dropped */
    Writer *out;
} Explain;

#define SAY(pass, ...) write_format((pass)->out, __VA_ARGS__)

static void say_name(Explain *pass, Str name) {
    write_char(pass->out, '%');
    write_str(pass->out, name);
}

/* Begins what is said of a tensor. */
static void say_subject(Explain *pass, Str name) {
    write_char(pass->out, '@');
    write_str(pass->out, pass->about->func->name);
    SAY(pass, ": ");
    say_name(pass, name);
}

/* ---- points ---- */

/* `kernel.lf:12` */
static void say_line(Explain *pass, Span span) {
    const Source *source = pass->about->options->source;
    write_str(pass->out, source->name);
    SAY(pass, ":%u", source_place(source, span.begin).line);
}

/* `kernel.lf:12 (point 3)`; the point is one of the input. */
static void say_point(Explain *pass, uint32_t point) {
    bool by_line = pass->about->options->source;
    if (by_line) say_line(pass, pass->about->func->insts[point].span);
    SAY(pass, by_line ? " (point %u)" : "point %u", point);
}

/* The instruction of the input at a point of the result, or that which an inserted one serves: they
 * have one span; else the next one on that side; INSERTED: there is none. */
static uint32_t find_served(const Rewritten *result, uint32_t point, int step) {
    uint32_t nearest = INSERTED;
    for (uint32_t p = point; p < result->func->ninsts; p += (uint32_t)step) { /* 0 - 1 is more */
        if (result->origin_inst[p] == INSERTED) continue;
        if (nearest == INSERTED) nearest = result->origin_inst[p];
        if (result->func->insts[p].span.begin == result->func->insts[point].span.begin)
            return result->origin_inst[p];
    }
    return nearest;
}

static void say_result_point(Explain *pass, uint32_t point, int step) {
    uint32_t inst = find_served(pass->about->result, point, step);
    if (inst == INSERTED)
        SAY(pass, step < 0 ? "the start" : "the end");
    else
        say_point(pass, inst);
}

static void say_stretches(Explain *pass, LiveRange range) {
    for (uint32_t i = 0; i < range.count && i < MOST_LISTED; i++) {
        Interval stretch = range.items[i];
        SAY(pass, i == 0 ? "" : i + 1 == range.count ? " and " : "; ");
        if (stretch.first == stretch.last) {
            SAY(pass, "at ");
            say_point(pass, stretch.first);
            continue;
        }
        SAY(pass, "from ");
        say_point(pass, stretch.first);
        SAY(pass, " to ");
        say_point(pass, stretch.last);
    }
    if (range.count > MOST_LISTED)
        SAY(pass, " and in %u more stretches", range.count - MOST_LISTED);
}

/* ---- what a tensor is and costs ---- */

static void say_partitions(Explain *pass, const Tensor *tensor, int32_t first) {
    SAY(pass, "partitions %d to %" PRId64, first, first + tensor->partitions - 1);
}

static void say_bytes(Explain *pass, int64_t first, int64_t bytes) {
    if (bytes == 1)
        SAY(pass, "byte %" PRId64, first);
    else
        SAY(pass, "bytes %" PRId64 " to %" PRId64, first, first + bytes - 1);
}

static void say_size(Explain *pass, const Tensor *tensor) {
    if (tensor->blocks > 1) SAY(pass, "%" PRId64 " blocks of ", tensor->blocks);
    SAY(pass, "%" PRId64 " byte%s/partition in %" PRId64 " partition%s", tensor->bytes,
        tensor->bytes == 1 ? "" : "s", tensor->partitions, tensor->partitions == 1 ? "" : "s");
}

static const char *why_infinite(const Tensor *tensor, LiveRange range) {
    if (tensor->fixed) return "its place is given";
    if (tensor->pin) return "it is pinned";
    if (tensor->output) return "it is an output";
    if (range.count == 1 && range.items[0].last <= range.items[0].first + 1)
        return "it lives at no point but those that use it";
    return "nothing reads it";
}

/* Places of its neighbours that the node takes away. */
static int64_t find_relief(const Explain *pass, uint32_t n, uint32_t *neighbours) {
    Axis axis = axis_make(target_granules(pass->about->target));
    const Node *node = &pass->nodes.items[n];
    int64_t relief = 0;
    *neighbours = 0;
    for (uint32_t m = 0; m < pass->nodes.count; m++) {
        const Node *other = &pass->nodes.items[m];
        if (m == n || !live_overlap(node->range, other->range)) continue;
        ++*neighbours;
        if (!other->fixed) relief += impact_of_all(&axis, other, node);
    }
    return relief;
}

static void say_cost(Explain *pass, uint32_t n) {
    const Node *node = &pass->nodes.items[n];
    uint32_t neighbours;
    int64_t relief = find_relief(pass, n, &neighbours);
    if (isinf(node->cost)) {
        SAY(pass, "  It must not be spilled: %s.\n",
            why_infinite(&pass->about->func->tensors[node->tensor], node->range));
        return;
    }
    SAY(pass,
        "  Spilled whole it would cost %.0f cycles. %u tensor%s live%s at the same time; its "
        "relief, "
        "the "
        "places that it takes from them, is %" PRId64 ".\n",
        node->cost, neighbours, neighbours == 1 ? "" : "s", neighbours == 1 ? "s" : "", relief);
}

static void say_need(Explain *pass, uint32_t point) {
    int64_t need = (int64_t)pass->about->need[point] * GRANULE;
    int64_t usable = target_usable(pass->about->target);
    SAY(pass, "at ");
    say_point(pass, point);
    SAY(pass, ": %" PRId64 " bytes/partition are %s there and %" PRId64 " are usable", need,
        pass->about->taken ? "taken" : "needed", usable);
    if (need > usable) SAY(pass, ", %" PRId64 " too few", need - usable);
    SAY(pass, ".\n");
}

/* ---- where it lies ---- */

/* The nearest tensor below or above a block, among those that live with it. */
static uint32_t find_next(const Explain *pass, uint32_t t, Rect rect, bool above) {
    const Func *func = pass->about->result->func;
    uint32_t best = UINT32_MAX;
    uint32_t edge = 0;
    for (uint32_t u = 0; u < func->ntensors; u++) {
        const Tensor *other = &func->tensors[u];
        if (u == t || other->space != SPACE_SB || !other->at ||
            !live_overlap(pass->about->live->whole[t], pass->about->live->whole[u]))
            continue;
        for (int64_t b = 0; b < other->blocks; b++) {
            Rect place = tensor_rect(other, other->at[b]);
            if (!(place.mask & rect.mask)) continue;
            uint32_t near = above ? place.low : place.high;
            bool beside = above ? near >= rect.high : near <= rect.low;
            if (!beside || (best != UINT32_MAX && (above ? near >= edge : near <= edge))) continue;
            best = u;
            edge = near;
        }
    }
    return best;
}

static void say_neighbour(Explain *pass, uint32_t t, Rect rect, bool above) {
    const Func *func = pass->about->result->func;
    uint32_t u = find_next(pass, t, rect, above);
    if (u == UINT32_MAX) {
        SAY(pass, above ? "nothing lies above it" : "nothing lies below it");
        return;
    }
    say_name(pass, func->tensors[u].name);
    SAY(pass, above ? " is next above it" : " is next below it");
}

/* The copy that is elided because the tensor shares its place, or NULL. */
static const Inst *find_shared(const Explain *pass, uint32_t t, uint32_t *other, uint32_t *point) {
    const Func *func = pass->about->result->func;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if (inst->kind != OP_COPY || !meta_find(inst->meta, "elided")) continue;
        uint32_t dst = inst_dst(inst)->tensor, src = inst_src(inst)->tensor;
        if (dst != t && src != t) continue;
        *other = dst == t ? src : dst;
        *point = p;
        return inst;
    }
    return NULL;
}

/* True if the earlier allocation had it there too. */
static bool was_there(const Explain *pass, uint32_t t) {
    const Tensor *tensor = &pass->about->result->func->tensors[t];
    const Earlier *earlier = pass->about->earlier;
    uint32_t found = strmap_get(&earlier->tensors, tensor->name);
    if (!earlier->func || tensor->fixed || found == UINT32_MAX) return false;
    const Tensor *before = &earlier->func->tensors[found];
    bool same = before->blocks == tensor->blocks;
    for (int64_t b = 0; same && b < tensor->blocks; b++)
        same = before->at[b].partition == tensor->at[b].partition &&
               before->at[b].byte == tensor->at[b].byte;
    return same;
}

static void say_place(Explain *pass, uint32_t t) {
    const Tensor *tensor = &pass->about->result->func->tensors[t];
    for (int64_t b = 0; b < tensor->blocks && b < MOST_LISTED; b++) {
        SAY(pass, "  ");
        if (tensor->blocks > 1)
            SAY(pass, "Block %" PRId64, b);
        else
            SAY(pass, "It");
        SAY(pass, " lies at ");
        say_bytes(pass, tensor->at[b].byte, tensor->bytes);
        SAY(pass, " of ");
        say_partitions(pass, tensor, tensor->at[b].partition);
        SAY(pass, ".\n");
    }
    if (tensor->blocks > MOST_LISTED)
        SAY(pass, "  %" PRId64 " more blocks are not listed.\n", tensor->blocks - MOST_LISTED);
    if (tensor->fixed) SAY(pass, "  The input gives that place.\n");
    if (was_there(pass, t)) SAY(pass, "  It was there in the earlier allocation.\n");
    uint32_t other, point;
    if (find_shared(pass, t, &other, &point)) {
        SAY(pass, "  It shares that place with ");
        say_name(pass, pass->about->result->func->tensors[other].name);
        SAY(pass, ", so that the copy at ");
        say_result_point(pass, point, 1);
        SAY(pass, " does nothing.\n");
    }
    if (tensor->blocks > 1) return;
    Rect rect = tensor_rect(tensor, tensor->at[0]);
    SAY(pass, "  Of those that live at the same time, ");
    say_neighbour(pass, t, rect, false);
    SAY(pass, " and ");
    say_neighbour(pass, t, rect, true);
    SAY(pass, ".\n");
}

/* ---- why it went ---- */

/* [points of the result] where some of the tensor is on chip. */
static bool *find_on_chip(const Explain *pass, uint32_t t) {
    const Rewritten *result = pass->about->result;
    bool *on_chip = NEW_ARRAY(pass->arena, bool, result->func->ninsts);
    for (uint32_t u = 0; u < result->func->ntensors; u++) {
        if (result->origin[u] != t || result->role[u] == ROLE_HOME) continue;
        LiveRange range = pass->about->live->whole[u];
        for (uint32_t i = 0; i < range.count; i++)
            for (uint32_t p = range.items[i].first; p <= range.items[i].last; p++)
                on_chip[p] = true;
    }
    return on_chip;
}

/* The point of highest pressure while the tensor lives; `away`: while its value is off the chip. */
static uint32_t find_worst(const Explain *pass, uint32_t t, LiveRange range, bool away) {
    const bool *on_chip = away ? find_on_chip(pass, t) : NULL;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < range.count; i++)
        for (uint32_t p = range.items[i].first; p <= range.items[i].last; p++) {
            if (best != UINT32_MAX && pass->about->need[p] <= pass->about->need[best]) continue;
            if (away && (pass->moved_to[p] == UINT32_MAX || on_chip[pass->moved_to[p]])) continue;
            best = p;
        }
    return best;
}

/* Who lies on chip at that point of the result, the largest first. */
static void say_takers(Explain *pass, uint32_t point) {
    const Func *func = pass->about->result->func;
    SortKey *order = RAW_ARRAY(pass->arena, SortKey, func->ntensors);
    uint32_t count = 0;
    for (uint32_t u = 0; u < func->ntensors; u++) {
        const Tensor *tensor = &func->tensors[u];
        if (tensor->space != SPACE_SB || !tensor->at ||
            !live_at(pass->about->live->whole[u], point))
            continue;
        uint64_t size = (uint64_t)tensor->bytes * (uint64_t)tensor->blocks;
        order[count++] = (SortKey){UINT64_MAX - size, u};
    }
    sort_keys(order, count, pass->arena);
    SAY(pass, count ? "  On chip there instead:\n" : "  Nothing is on chip there.\n");
    for (uint32_t i = 0; i < count && i < MOST_LISTED; i++) {
        uint32_t u = order[i].id, origin = pass->about->result->origin[u];
        uint32_t n = pass->nodes.of[origin];
        SAY(pass, "    ");
        say_name(pass, func->tensors[u].name);
        SAY(pass, ", ");
        say_size(pass, &func->tensors[u]);
        if (n != NO_NODE && isinf(pass->nodes.items[n].cost))
            SAY(pass, ", must not be spilled\n");
        else if (n != NO_NODE)
            SAY(pass, ", would cost %.0f cycles\n", pass->nodes.items[n].cost);
        else
            SAY(pass, "\n");
    }
    if (count > MOST_LISTED) SAY(pass, "    and %u more\n", count - MOST_LISTED);
}

/* What is told of a spilled tensor; NULL where that was not looked for. */
static const SpilledTensor *find_spilled(const Explain *pass, uint32_t t) {
    const Report *report = pass->about->report;
    for (uint32_t i = 0; i < report->nspilled; i++)
        if (report->spilled[i].tensor == t) return &report->spilled[i];
    return NULL;
}

static void say_next_best(Explain *pass, uint32_t t) {
    const SpilledTensor *one = find_spilled(pass, t);
    if (!one || !one->priced) return;
    SAY(pass, "  ");
    write_next_best(one, "There", pass->out);
    SAY(pass, ".\n");
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

/* What leaving in place takes in all, and which point forced it. */
static void say_forced(Explain *pass, uint32_t t) {
    const SpilledTensor *one = find_spilled(pass, t);
    if (!one) return;
    SAY(pass,
        "  That takes %" PRId64 " save%s and %" PRId64 " reload%s as they run, %" PRId64
        " cycles in all, for ",
        one->saves_run, plural(one->saves_run), one->reloads_run, plural(one->reloads_run),
        one->cycles);
    say_point(pass, one->forced.point);
    SAY(pass, ", where %" PRId64 " bytes/partition would be needed.\n", one->needed);
}

static void say_access(Explain *pass, PlanAccess access) {
    if (access.inst == ENTRY)
        SAY(pass, "the start");
    else
        say_point(pass, access.inst);
}

/* Between which accesses the value is in DRAM alone. */
static void say_gaps(Explain *pass, uint32_t t) {
    const Plan *plan = pass->about->plan;
    uint32_t count = 0;
    for (uint32_t a = plan->first[t] + 1; a < plan->first[t + 1]; a++) {
        if (!plan->accesses[a].cut || ++count > MOST_LISTED) continue;
        SAY(pass, "  It leaves the chip between ");
        say_access(pass, plan->accesses[a - 1]);
        SAY(pass, " and ");
        say_access(pass, plan->accesses[a]);
        SAY(pass, ".\n");
    }
    if (count > MOST_LISTED) SAY(pass, "  And %u times more.\n", count - MOST_LISTED);
    for (uint32_t l = plan->first_loop[t]; l < plan->first_loop[t + 1]; l++) {
        if (!plan->loops[l].cut) continue;
        const Loop *loop = &pass->about->func->loops[plan->loops[l].loop];
        SAY(pass, "  It does not stay on chip from one iteration of the loop over ");
        write_str(pass->out, loop->name);
        if (pass->about->options->source) {
            SAY(pass, " (");
            say_line(pass, loop->span);
            SAY(pass, ")");
        }
        SAY(pass, " to the next.\n");
    }
}

/* The DMAs that spilling it has brought. */
static DmaSum find_dmas(const Explain *pass, uint32_t t) {
    const Rewritten *result = pass->about->result;
    DmaSum sum = {0};
    for (uint32_t p = 0; p < result->func->ninsts; p++) {
        const Inst *inst = &result->func->insts[p];
        if (result->origin_inst[p] != INSERTED || inst->ndst == 0 || inst->nsrc == 0) continue;
        if (result->origin[dma_on_chip(inst)->tensor] != t) continue;
        add_dmas(&sum, sum_dma(result->func, inst, pass->about->target));
    }
    return sum;
}

/* Its working copies; `parts`: all that it lies in. */
static void say_copies(Explain *pass, uint32_t t, bool parts) {
    const Rewritten *result = pass->about->result;
    uint32_t count = 0;
    for (uint32_t u = 0; u < result->func->ntensors; u++) {
        bool listed =
            result->role[u] == ROLE_COPY || (parts && result->func->tensors[u].space == SPACE_SB);
        if (result->origin[u] != t || !listed || ++count > MOST_LISTED) continue;
        if (count > 1) SAY(pass, ", ");
        say_name(pass, result->func->tensors[u].name);
    }
    if (count > MOST_LISTED) SAY(pass, " and %u more copies", count - MOST_LISTED);
    SAY(pass, ".\n");
}

static void say_dmas(Explain *pass, uint32_t t, DmaSum sum) {
    SAY(pass, "  That takes %u save%s and %u reload%s, %" PRId64 " cycles in all, into ", sum.saves,
        sum.saves == 1 ? "" : "s", sum.reloads, sum.reloads == 1 ? "" : "s", sum.cycles);
    say_copies(pass, t, false);
}

/* ---- which blocks go ---- */

/* `block 3`, `blocks 0 to 4, 7 and 9`. */
static void say_blocks(Explain *pass, const bool *blocks, int64_t total) {
    uint32_t shown = 0, runs = 0;
    for (int64_t b = 0; b < total; b++)
        runs += blocks[b] && (b == 0 || !blocks[b - 1]);
    for (int64_t b = 0, end; b < total && shown < MOST_LISTED; b = end + 1) {
        for (end = b; end < total && blocks[end];)
            end++;
        if (end == b) continue;
        shown++;
        SAY(pass, shown == 1 ? "" : shown == runs ? " and " : ", ");
        SAY(pass, "%" PRId64, b);
        if (end > b + 1) SAY(pass, " to %" PRId64, end - 1);
    }
    if (runs > shown) SAY(pass, " and %u more", runs - shown);
}

/* The instruction of the input after or before which an inserted one stands, and its condition. */
static void say_transfer(Explain *pass, uint32_t point, uint32_t u) {
    const Func *func = pass->about->result->func;
    const Inst *inst = &func->insts[point];
    bool save = inst->kind == OP_SAVE;
    const Operand *far = save ? inst_dst(inst) : inst_src(inst);
    uint32_t near = (save ? inst_src(inst) : inst_dst(inst))->tensor;
    int64_t runs = inst_runs(func, inst);
    SAY(pass, save ? "  Saved to " : "  Loaded from ");
    say_name(pass, func->tensors[far->tensor].name);
    if (near != u) {
        SAY(pass, save ? " from " : " into ");
        say_name(pass, func->tensors[near].name);
    }
    SAY(pass, save ? " after " : " before ");
    say_result_point(pass, point, save ? -1 : 1);
    if (inst->condition) {
        SAY(pass, " where ");
        print_condition(func, inst->condition, pass->out);
    }
    SAY(pass, ", %" PRId64 " time%s.\n", runs, runs == 1 ? "" : "s");
}

/* True for the tensor of the result, and for working copies of what it is of. */
static bool is_copy_or(const Explain *pass, uint32_t t, uint32_t u) {
    const Rewritten *result = pass->about->result;
    return t == u || (result->role[t] == ROLE_COPY && result->origin[t] == result->origin[u]);
}

/* What becomes of the blocks that do not stay. */
static void say_leaving(Explain *pass, uint32_t u) {
    const Func *func = pass->about->result->func;
    const Tensor *tensor = &func->tensors[u];
    int64_t count = pass->leaving.count[u];
    if (tensor->blocks == 1) {
        SAY(pass, "  It leaves the chip at times and comes back to its place.\n");
    } else {
        SAY(pass,
            "  %" PRId64 " of its %" PRId64 " blocks leave%s the chip at times and come%s back to "
            "%s place: ",
            count, tensor->blocks, count == 1 ? "s" : "", count == 1 ? "s" : "",
            count == 1 ? "its" : "their");
        say_blocks(pass, pass->leaving.blocks[u], tensor->blocks);
        SAY(pass, ".\n");
    }
    if (pass->leaving.all[u] > count)
        SAY(pass, "  With those that come back to working copies %" PRId64 " leave.\n",
            pass->leaving.all[u]);
    uint32_t told = 0;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        const Inst *inst = &func->insts[p];
        if ((dma_is_store(inst) && is_copy_or(pass, inst_src(inst)->tensor, u)) ||
            (dma_is_reload(inst) && is_copy_or(pass, inst_dst(inst)->tensor, u)))
            if (++told <= MOST_LISTED) say_transfer(pass, p, u);
    }
    if (told > MOST_LISTED) SAY(pass, "  And %u more transfers.\n", told - MOST_LISTED);
}

/* ---- one tensor ---- */

static uint32_t find_in_result(const Explain *pass, uint32_t t) {
    const Rewritten *result = pass->about->result;
    for (uint32_t u = 0; u < result->func->ntensors; u++)
        if (result->origin[u] == t &&
            (result->role[u] == ROLE_KEPT || result->role[u] == ROLE_PART))
            return u;
    return UINT32_MAX;
}

static void say_spilled(Explain *pass, uint32_t t, LiveRange range, DmaSum dmas) {
    say_cost(pass, pass->nodes.of[t]);
    uint32_t peak = find_worst(pass, t, range, true);
    bool away = peak != UINT32_MAX;
    if (!away) peak = find_worst(pass, t, range, false);
    SAY(pass, away ? "  With it, most would be needed " : "  Most is needed while it lives ");
    say_need(pass, peak);
    if (away && pass->about->need[peak] <= target_granules(pass->about->target))
        SAY(pass, "  That fits, but no placement of everything was found.\n");
    if (away) say_takers(pass, pass->moved_to[peak]);
    say_next_best(pass, t);
    say_gaps(pass, t);
    say_dmas(pass, t, dmas);
}

static void explain_tensor(Explain *pass, uint32_t t) {
    const Tensor *tensor = &pass->about->func->tensors[t];
    LiveRange range = pass->live.whole[t];
    say_subject(pass, tensor->name);
    if (tensor->space != SPACE_SB) {
        SAY(pass, " is in %s, which is not allocated here.\n",
            tensor->space == SPACE_DRAM ? "DRAM" : "PSUM");
        return;
    }
    if (range.count == 0) {
        SAY(pass, " is never live, so it needs no place: ");
        say_size(pass, tensor);
        SAY(pass, ".\n");
        return;
    }
    DmaSum dmas = find_dmas(pass, t);
    uint32_t u = find_in_result(pass, t);
    bool partly = u != UINT32_MAX && pass->leaving.count[u] > 0;
    bool spilled = !partly && dmas.saves + dmas.reloads > 0;
    bool cut = spilled || (pass->about->plan->spilled[t] && !partly);
    SAY(pass, spilled  ? " was spilled: "
              : partly ? " is on chip in part: "
                       : " is on chip all its life: ");
    say_size(pass, tensor);
    SAY(pass, ", live ");
    say_stretches(pass, range);
    SAY(pass, ".\n");
    if (spilled) {
        say_spilled(pass, t, range, dmas);
        return;
    }
    if (cut) {
        SAY(pass, "  It changes its place, without DMAs, while no value is in it: ");
        say_copies(pass, t, true);
    }
    if (partly) {
        say_leaving(pass, u);
        say_forced(pass, t);
        say_next_best(pass, t);
    }
    if (u != UINT32_MAX && pass->about->result->func->tensors[u].at) say_place(pass, u);
    say_cost(pass, pass->nodes.of[t]);
    SAY(pass, "  Most is %s while it lives ", pass->about->taken ? "taken" : "needed");
    say_need(pass, find_worst(pass, t, range, false));
}

/* A tensor that spilling made. */
static void explain_made(Explain *pass, uint32_t u) {
    const Rewritten *result = pass->about->result;
    const Tensor *tensor = &result->func->tensors[u];
    uint32_t t = result->origin[u];
    say_subject(pass, tensor->name);
    if (result->role[u] == ROLE_HOME) {
        SAY(pass, " is the home in DRAM of ");
        say_name(pass, pass->about->func->tensors[t].name);
        SAY(pass, ", which was spilled, at byte %" PRId64 " of the spill area.\n", tensor->offset);
    } else {
        SAY(pass, " is a working copy of ");
        say_name(pass, pass->about->func->tensors[t].name);
        SAY(pass, ", which was spilled: ");
        say_size(pass, tensor);
        LiveRange range = pass->about->live->whole[u];
        if (range.count > 0) {
            SAY(pass, ", from ");
            say_result_point(pass, range.items[0].first, 1);
            SAY(pass, " to ");
            say_result_point(pass, range.items[range.count - 1].last, -1);
        }
        SAY(pass, ".\n");
        if (tensor->at) say_place(pass, u);
    }
    explain_tensor(pass, t);
}

static void start(Explain *pass) {
    const Explained *about = pass->about;
    pass->live = live_range(about->func, pass->arena);
    pass->nodes = renumber(about->func, &pass->live, NULL, pass->arena);
    CostModel model = {about->target, about->options->allocator == ALLOCATOR_FLAT,
                       about->options->dma_optlevel > 4};
    find_costs(about->func, &pass->nodes, model, NULL, pass->arena);
    pass->leaving = leaving_blocks(about->result->func, pass->arena);
    pass->moved_to = RAW_ARRAY(pass->arena, uint32_t, about->func->ninsts);
    for (uint32_t p = 0; p < about->func->ninsts; p++)
        pass->moved_to[p] = UINT32_MAX;
    for (uint32_t p = 0; p < about->result->func->ninsts; p++)
        if (about->result->origin_inst[p] != INSERTED)
            pass->moved_to[about->result->origin_inst[p]] = p;
}

/* What the part of that name is a part of, UINT32_MAX if there is none. */
static uint32_t find_part(const Explain *pass, Str name) {
    const Rewritten *result = pass->about->result;
    for (uint32_t u = 0; u < result->func->ntensors; u++)
        if (result->role[u] == ROLE_PART && str_equal(result->func->tensors[u].name, name))
            return result->origin[u];
    return UINT32_MAX;
}

static void explain_all(Explain *pass, Str name) {
    const Func *func = pass->about->func;
    const Rewritten *result = pass->about->result;
    bool any = false;
    uint32_t parts = 0;
    for (uint32_t t = 0; t < func->ntensors; t++)
        parts += str_equal(pass->about->names[t], name);
    if (parts > 1) {
        say_subject(pass, name);
        SAY(pass, " holds %u values one after another; each has a place of its own.\n", parts);
    }
    uint32_t asked = find_part(pass, name);
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (!str_equal(func->tensors[t].name, name) && !str_equal(pass->about->names[t], name) &&
            t != asked)
            continue;
        explain_tensor(pass, t);
        any = true;
    }
    for (uint32_t u = 0; u < result->func->ntensors && !any; u++)
        if ((result->role[u] == ROLE_HOME || result->role[u] == ROLE_COPY) &&
            str_equal(result->func->tensors[u].name, name))
            explain_made(pass, u);
}

void explain(const Explained *about, bool *found, Writer *out) {
    Arena scratch;
    arena_init(&scratch);
    Explain pass = {.about = about, .arena = &scratch, .out = out};
    start(&pass);
    for (uint32_t i = 0; i < about->options->explain.count; i++) {
        const Wish *wish = &about->options->explain.items[i];
        size_t before = out->length;
        if (wish_is_of(wish, about->input)) explain_all(&pass, wish->tensor);
        found[i] = out->length > before;
    }
    arena_free(&scratch);
}
