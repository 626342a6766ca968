#include "spill/joint/beam_state.h"

#include <assert.h>
#include <string.h>

#include "support/checked.h"

/* The most that a state's payments count in its rank. */
static const int64_t MOST_PAID = (int64_t)1 << 61;

/* ---- stores ---- */

static bool is_stored(const Beam *beam, const BeamState *state, uint32_t value) {
    uint32_t slot = beam->slots[value];
    return beam->paid[value] == beam->search_id || (state->stored[slot / 64] >> slot % 64 & 1);
}

/* True if cutting a gap stores its value. */
static bool needs_store(const Beam *beam, const BeamState *state, uint32_t gap) {
    uint32_t value = beam->items[gap].value;
    return value != NO_VALUE && !is_stored(beam, state, value);
}

/* The part of a value's store that the prices do not take as paid. */
static int64_t expected_store(const Beam *beam, uint32_t value) {
    return (int64_t)((double)beam->problem->store[value] * (1 - beam->prices.stored[value]));
}

void drop_ended_values(Beam *beam) {
    while (beam->next_value < beam->nlisted && beam->values[beam->next_value].key <= beam->point) {
        uint32_t slot = beam->slots[beam->values[beam->next_value++].id];
        for (uint32_t i = 0; i < beam->nnow; i++)
            beam->now[i].stored[slot / 64] &= ~((uint64_t)1 << slot % 64);
    }
}

/* ---- worth ---- */

static int64_t at_most(double number) {
    if (number >= (double)MOST_WORTH) return MOST_WORTH;
    return number > 0 ? (int64_t)number : 0;
}

static void find_worth(Beam *beam, uint32_t gap, uint32_t point) {
    const JointSegment *item = &beam->items[gap];
    double gain = (double)item->load;
    if (item->gap.count > 0 && !goes_beyond(beam, gap)) {
        uint32_t from = first_of(item->gap), end = last_of(item->gap) + 1;
        if (from < point) from = point;
        const double *sums = beam->prices.sums;
        if (from < end) gain -= beam->options.scale * (sums[end] - sums[from]) * segment_area(item);
    }
    double store = item->value == NO_VALUE ? 0 : (double)expected_store(beam, item->value);
    beam->worths[gap] = (GapWorth){point, {at_most(gain + store), at_most(gain)}};
}

int64_t worth_of_gap(Beam *beam, const BeamState *state, uint32_t gap, Rect rect, uint32_t point) {
    if (goes_beyond(beam, gap) && (!beam->kept[gap] || !rects_same(rect, beam->rects[gap])))
        return 0;
    if (beam->worths[gap].point != point) find_worth(beam, gap, point);
    return beam->worths[gap].worth[!needs_store(beam, state, gap)];
}

int64_t loss_of(Beam *beam, const BeamState *state, const Resident *resident) {
    const JointSegment *item = &beam->items[resident->item];
    if (item->fixed) return LOCKED;
    if (resident->fresh) {
        bool stores = needs_store(beam, state, resident->item);
        return at_most((double)item->load +
                       (double)(stores ? expected_store(beam, item->value) : 0));
    }
    if (last_of(item->points) >= beam->point) return LOCKED;
    if (!goes_on(beam, resident->item)) return 0;
    return worth_of_gap(beam, state, resident->item + 1, resident->rect, beam->point);
}

void rank_state(Beam *beam, BeamState *state) {
    state->rank = state->expected;
    for (uint32_t i = 0; i < state->count; i++) {
        const Resident *resident = &state->residents[i];
        if (goes_on(beam, resident->item))
            state->rank -=
                worth_of_gap(beam, state, resident->item + 1, resident->rect, beam->point + 1);
    }
    beam->steps += state->count;
}

/* ---- states ---- */

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7FB5D329728EA185U;
    x ^= x >> 27;
    x *= 0x81DADEF4BC2DD44DU;
    return x ^ x >> 33;
}

static uint64_t hash_of(const Resident *resident) {
    return mix((uint64_t)resident->item << 32 ^ (uint64_t)resident->rect.low << 4 ^
               resident->rect.mask);
}

static BeamState *make_states(Beam *beam, uint32_t count) {
    BeamState *states = NEW_ARRAY(&beam->own, BeamState, count);
    for (uint32_t i = 0; i < count; i++) {
        states[i].residents = RAW_ARRAY(&beam->own, Resident, beam->most_residents);
        states[i].stored = NEW_ARRAY(&beam->own, uint64_t, beam->words);
        states[i].pending = RAW_ARRAY(&beam->own, uint32_t, beam->most_starting);
    }
    return states;
}

void beam_begin(Beam *beam, BeamOptions options) {
    arena_init(&beam->own);
    beam->options = options;
    beam->steps = 0;
    beam->search_id++;
    beam->now = make_states(beam, options.width);
    beam->next = make_states(beam, options.width);
    beam->nnow = 1;
    beam->now[0].node = NO_NODE;
    beam->choices = RAW_ARRAY(&beam->own, BeamBranch, (size_t)options.width * options.tries);
    beam->worths = RAW_ARRAY(&beam->own, GapWorth, beam->problem->count);
    for (uint32_t i = 0; i < beam->problem->count; i++)
        beam->worths[i].point = UINT32_MAX;
    for (beam->table_size = 4; beam->table_size < 2 * options.width;)
        beam->table_size *= 2;
    beam->table = RAW_ARRAY(&beam->own, uint64_t, beam->table_size);
    beam->records = NULL;
    beam->nrecords = beam->record_capacity = 0;
}

void copy_state(Beam *beam, BeamState *to, const BeamState *from) {
    BeamState copy = *from;
    copy.residents = to->residents;
    copy.stored = to->stored;
    copy.pending = to->pending;
    memcpy(copy.residents, from->residents, from->count * sizeof *from->residents);
    memcpy(copy.stored, from->stored, beam->words * sizeof *from->stored);
    memcpy(copy.pending, from->pending, from->npending * sizeof *from->pending);
    *to = copy;
    beam->steps += from->count / 8 + beam->words / 8 + 1;
}

void pay_for(Beam *beam, BeamState *state, uint32_t item) {
    if (!beam->items[item].linked) return;
    int64_t load = beam->items[item].load, store = 0, expected = 0;
    if (needs_store(beam, state, item)) {
        uint32_t value = beam->items[item].value, slot = beam->slots[value];
        store = beam->problem->store[value];
        expected = expected_store(beam, value);
        state->stored[slot / 64] |= (uint64_t)1 << slot % 64;
    }
    state->cost = saturating_add(state->cost, saturating_add(load, store));
    state->expected = saturating_add(state->expected, saturating_add(load, expected));
    if (state->expected > MOST_PAID) state->expected = MOST_PAID;
}

/* True if the next segment of the value has not begun before this point: at entry both may begin
 * together, and then nothing has to wait. */
static bool waits_for_next(const Beam *beam, uint32_t item) {
    return goes_on(beam, item) && first_of(beam->items[item + 1].points) >= beam->point;
}

void drop_ended(Beam *beam, BeamState *state) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        Resident resident = state->residents[i];
        resident.fresh = false;
        bool lives = last_of(beam->items[resident.item].points) >= beam->point;
        if (lives || waits_for_next(beam, resident.item))
            state->residents[count++] = resident;
        else
            state->hash -= hash_of(&resident);
    }
    state->count = count;
    state->npending = 0;
}

void begin_segment(Beam *beam, BeamState *state, uint32_t item) {
    for (uint32_t i = 0; beam->items[item].linked && i < state->count; i++) {
        Resident *resident = &state->residents[i];
        if (resident->item + 1 != item) continue;
        state->hash -= hash_of(resident);
        resident->item = item;
        resident->fresh = true;
        state->hash += hash_of(resident);
        return;
    }
    pay_for(beam, state, item);
    state->pending[state->npending++] = item;
}

void insert_resident(BeamState *state, Resident resident) {
    uint32_t at = state->count++;
    for (; at > 0 && state->residents[at - 1].rect.low > resident.rect.low; at--)
        state->residents[at] = state->residents[at - 1];
    state->residents[at] = resident;
    state->hash += hash_of(&resident);
}

void place_pending(Beam *beam, BeamState *state, Rect rect) {
    uint32_t item = state->pending[0], count = 0;
    memmove(state->pending, state->pending + 1, --state->npending * sizeof *state->pending);
    for (uint32_t i = 0; i < state->count; i++) {
        Resident resident = state->residents[i];
        if (!rects_meet(resident.rect, rect)) {
            state->residents[count++] = resident;
            continue;
        }
        state->hash -= hash_of(&resident);
        if (!resident.fresh) continue;
        pay_for(beam, state, resident.item);
        state->pending[state->npending++] = resident.item;
    }
    state->count = count;
    assert(count < beam->most_residents);
    insert_resident(state, (Resident){rect, item, false});
    PUSH(&beam->own, beam->records, beam->nrecords, beam->record_capacity,
         ((BeamRecord){state->node, item, rect}));
    state->node = (uint32_t)beam->nrecords - 1;
}
