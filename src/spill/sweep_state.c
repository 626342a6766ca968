#include "spill/sweep_state.h"

#include <assert.h>
#include <string.h>

#include "support/checked.h"

/* The most that a state's payments count in its rank. */
static const int64_t MOST_PAID = (int64_t)1 << 61;

/* ---- stores ---- */

static bool is_stored(const Sweep *pass, const State *state, uint32_t value) {
    uint32_t slot = pass->slots[value];
    return pass->paid[value] == pass->sweep_id || (state->stored[slot / 64] >> slot % 64 & 1);
}

/* True if cutting a gap stores its value. */
static bool needs_store(const Sweep *pass, const State *state, uint32_t gap) {
    uint32_t value = pass->items[gap].value;
    return value != NO_VALUE && !is_stored(pass, state, value);
}

/* The part of a value's store that the prices do not take as paid. */
static int64_t expected_store(const Sweep *pass, uint32_t value) {
    return (int64_t)((double)pass->problem->store[value] * (1 - pass->prices->stored[value]));
}

void forget_values(Sweep *pass) {
    while (pass->next_value < pass->nlisted && pass->values[pass->next_value].key <= pass->point) {
        uint32_t slot = pass->slots[pass->values[pass->next_value++].id];
        for (uint32_t i = 0; i < pass->nnow; i++)
            pass->now[i].stored[slot / 64] &= ~((uint64_t)1 << slot % 64);
    }
}

/* ---- worth ---- */

static int64_t at_most(double number) {
    if (number >= (double)MOST_WORTH) return MOST_WORTH;
    return number > 0 ? (int64_t)number : 0;
}

static void find_worth(Sweep *pass, uint32_t gap, uint32_t point) {
    const Lodger *item = &pass->items[gap];
    double gain = (double)item->load;
    if (item->gap.count > 0 && !goes_beyond(pass, gap)) {
        uint32_t from = first_of(item->gap), end = last_of(item->gap) + 1;
        if (from < point) from = point;
        const double *sums = pass->prices->sums;
        if (from < end) gain -= pass->options.scale * (sums[end] - sums[from]) * lodger_area(item);
    }
    double store = item->value == NO_VALUE ? 0 : (double)expected_store(pass, item->value);
    pass->worths[gap] = (Worth){point, {at_most(gain + store), at_most(gain)}};
}

int64_t worth_of_gap(Sweep *pass, const State *state, uint32_t gap, Rect rect, uint32_t point) {
    if (goes_beyond(pass, gap) && (!pass->kept[gap] || !rects_same(rect, pass->rects[gap])))
        return 0;
    if (pass->worths[gap].point != point) find_worth(pass, gap, point);
    return pass->worths[gap].worth[!needs_store(pass, state, gap)];
}

int64_t loss_of(Sweep *pass, const State *state, const Standing *standing) {
    const Lodger *item = &pass->items[standing->item];
    if (item->fixed) return LOCKED;
    if (standing->fresh) {
        bool stores = needs_store(pass, state, standing->item);
        return at_most((double)item->load +
                       (double)(stores ? expected_store(pass, item->value) : 0));
    }
    if (last_of(item->points) >= pass->point) return LOCKED;
    if (!goes_on(pass, standing->item)) return 0;
    return worth_of_gap(pass, state, standing->item + 1, standing->rect, pass->point);
}

void rank_state(Sweep *pass, State *state) {
    state->rank = state->expected;
    for (uint32_t i = 0; i < state->count; i++) {
        const Standing *standing = &state->standing[i];
        if (goes_on(pass, standing->item))
            state->rank -=
                worth_of_gap(pass, state, standing->item + 1, standing->rect, pass->point + 1);
    }
    pass->steps += state->count;
}

/* ---- states ---- */

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7FB5D329728EA185U;
    x ^= x >> 27;
    x *= 0x81DADEF4BC2DD44DU;
    return x ^ x >> 33;
}

static uint64_t hash_of(const Standing *standing) {
    return mix((uint64_t)standing->item << 32 ^ (uint64_t)standing->rect.low << 4 ^
               standing->rect.mask);
}

static State *make_states(Sweep *pass, uint32_t count) {
    State *states = NEW_ARRAY(&pass->own, State, count);
    for (uint32_t i = 0; i < count; i++) {
        states[i].standing = RAW_ARRAY(&pass->own, Standing, pass->most_standing);
        states[i].stored = NEW_ARRAY(&pass->own, uint64_t, pass->words);
        states[i].pending = RAW_ARRAY(&pass->own, uint32_t, pass->most_starting);
    }
    return states;
}

void sweep_make_states(Sweep *pass, SweepOptions options) {
    arena_init(&pass->own);
    pass->options = options;
    pass->steps = 0;
    pass->sweep_id++;
    pass->now = make_states(pass, options.width);
    pass->next = make_states(pass, options.width);
    pass->nnow = 1;
    pass->now[0].node = NO_NODE;
    pass->choices = RAW_ARRAY(&pass->own, Branch, (size_t)options.width * options.tries);
    pass->worths = RAW_ARRAY(&pass->own, Worth, pass->problem->count);
    for (uint32_t i = 0; i < pass->problem->count; i++)
        pass->worths[i].point = UINT32_MAX;
    for (pass->table_size = 4; pass->table_size < 2 * options.width;)
        pass->table_size *= 2;
    pass->table = RAW_ARRAY(&pass->own, uint64_t, pass->table_size);
    pass->records = NULL;
    pass->nrecords = pass->record_capacity = 0;
}

void copy_state(Sweep *pass, State *to, const State *from) {
    State copy = *from;
    copy.standing = to->standing;
    copy.stored = to->stored;
    copy.pending = to->pending;
    memcpy(copy.standing, from->standing, from->count * sizeof *from->standing);
    memcpy(copy.stored, from->stored, pass->words * sizeof *from->stored);
    memcpy(copy.pending, from->pending, from->npending * sizeof *from->pending);
    *to = copy;
    pass->steps += from->count / 8 + pass->words / 8 + 1;
}

void pay_for(Sweep *pass, State *state, uint32_t item) {
    if (!pass->items[item].linked) return;
    int64_t load = pass->items[item].load, store = 0, expected = 0;
    if (needs_store(pass, state, item)) {
        uint32_t value = pass->items[item].value, slot = pass->slots[value];
        store = pass->problem->store[value];
        expected = expected_store(pass, value);
        state->stored[slot / 64] |= (uint64_t)1 << slot % 64;
    }
    state->cost = saturating_add(state->cost, saturating_add(load, store));
    state->expected = saturating_add(state->expected, saturating_add(load, expected));
    if (state->expected > MOST_PAID) state->expected = MOST_PAID;
}

/* True if a stay that carries its value on has not begun before this point: at entry it may begin
 * together with what it carries on, which then waits for nothing. */
static bool waits_for_next(const Sweep *pass, uint32_t item) {
    return goes_on(pass, item) && first_of(pass->items[item + 1].points) >= pass->point;
}

void forget(Sweep *pass, State *state) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        Standing standing = state->standing[i];
        standing.fresh = false;
        bool lives = last_of(pass->items[standing.item].points) >= pass->point;
        if (lives || waits_for_next(pass, standing.item))
            state->standing[count++] = standing;
        else
            state->hash -= hash_of(&standing);
    }
    state->count = count;
    state->npending = 0;
}

void begin_stay(Sweep *pass, State *state, uint32_t item) {
    for (uint32_t i = 0; pass->items[item].linked && i < state->count; i++) {
        Standing *standing = &state->standing[i];
        if (standing->item + 1 != item) continue;
        state->hash -= hash_of(standing);
        standing->item = item;
        standing->fresh = true;
        state->hash += hash_of(standing);
        return;
    }
    pay_for(pass, state, item);
    state->pending[state->npending++] = item;
}

void insert_standing(State *state, Standing standing) {
    uint32_t at = state->count++;
    for (; at > 0 && state->standing[at - 1].rect.low > standing.rect.low; at--)
        state->standing[at] = state->standing[at - 1];
    state->standing[at] = standing;
    state->hash += hash_of(&standing);
}

void place_pending(Sweep *pass, State *state, Rect rect) {
    uint32_t item = state->pending[0], count = 0;
    memmove(state->pending, state->pending + 1, --state->npending * sizeof *state->pending);
    for (uint32_t i = 0; i < state->count; i++) {
        Standing standing = state->standing[i];
        if (!rects_meet(standing.rect, rect)) {
            state->standing[count++] = standing;
            continue;
        }
        state->hash -= hash_of(&standing);
        if (!standing.fresh) continue;
        pay_for(pass, state, standing.item);
        state->pending[state->npending++] = standing.item;
    }
    state->count = count;
    assert(count < pass->most_standing);
    insert_standing(state, (Standing){rect, item, false});
    PUSH(&pass->own, pass->records, pass->nrecords, pass->record_capacity,
         ((Record){state->node, item, rect}));
    state->node = (uint32_t)pass->nrecords - 1;
}
