#include "test/gaps.h"

#include <string.h>

#include "ir/target.h"
#include "test/chance.h"

static const char *const KIND_NAMES[GAPS_KINDS] = {"random", "local", "reverse",
                                                   "cyclic", "bands", "loops"};

int gaps_kind(const char *name) {
    for (int kind = 0; kind < GAPS_KINDS; kind++)
        if (strcmp(name, KIND_NAMES[kind]) == 0) return kind;
    return -1;
}

/* A program without its opcodes: who is accessed where. */
typedef struct {
    uint32_t ntensors;
    uint32_t *height; /* [ntensors] */
    uint8_t *class;
    bool *clean;        /* [ntensors] made by a load */
    uint32_t *accesses; /* [naccesses] tensors in the order of points */
    uint32_t *points;   /* [naccesses] */
    size_t naccesses, access_capacity, point_capacity;
    uint32_t npoints;
    Arena *arena;
} Program;

static void access_tensor(Program *program, uint32_t tensor) {
    size_t count = program->naccesses;
    PUSH(program->arena, program->accesses, count, program->access_capacity, tensor);
    PUSH(program->arena, program->points, program->naccesses, program->point_capacity,
         program->npoints);
}

/* Each instruction writes a new tensor and reads two older ones. */
static void make_random(Program *program, Chance *chance, uint32_t size, bool local) {
    for (uint32_t t = 0; t < program->ntensors; t++, program->npoints++)
        access_tensor(program, t);
    for (uint32_t i = 0; i < size; i++, program->npoints++) {
        uint32_t first = local ? (uint32_t)((uint64_t)i * program->ntensors / size) : 0;
        uint32_t range = local ? program->ntensors / 4 + 1 : program->ntensors;
        uint32_t a = (first + (uint32_t)chance_below(chance, range)) % program->ntensors;
        uint32_t b = (first + (uint32_t)chance_below(chance, range)) % program->ntensors;
        access_tensor(program, a);
        if (b != a) access_tensor(program, b);
    }
}

static void make_reverse(Program *program) {
    for (uint32_t t = 0; t < program->ntensors; t++, program->npoints++)
        access_tensor(program, t);
    for (uint32_t t = program->ntensors; t-- > 0; program->npoints++)
        access_tensor(program, t);
}

static void make_cyclic(Program *program, uint32_t size) {
    for (uint32_t i = 0; i < size; i++, program->npoints++)
        access_tensor(program, i % 16);
}

static uint32_t tensor_count(GapsKind kind, uint32_t size) {
    if (kind == GAPS_CYCLIC) return 16;
    if (kind == GAPS_REVERSE) return size / 2 + 1;
    return size / 8 + 2;
}

static void make_tensors(Program *program, GapsKind kind, Chance *chance, uint32_t size) {
    program->ntensors = tensor_count(kind, size);
    program->height = NEW_ARRAY(program->arena, uint32_t, program->ntensors);
    program->class = NEW_ARRAY(program->arena, uint8_t, program->ntensors);
    program->clean = NEW_ARRAY(program->arena, bool, program->ntensors);
    for (uint32_t t = 0; t < program->ntensors; t++) {
        program->height[t] = kind == GAPS_CYCLIC ? 256 : (uint32_t)chance_between(chance, 8, 1024);
        program->class[t] =
            kind == GAPS_BANDS ? (uint8_t)chance_below(chance, CLASS_COUNT) : (uint8_t)CLASS_FULL;
        program->clean[t] = kind == GAPS_CYCLIC || chance_percent(chance, 30);
    }
}

/* Partitions of a class, as many as it holds. */
static int64_t class_partitions(uint8_t class) {
    return class == CLASS_FULL ? 128 : class >= CLASS_ANY_HALF ? 64 : 32;
}

static int64_t dma_cycles(const Program *program, uint32_t tensor) {
    int64_t bytes = (int64_t)program->height[tensor] * GRANULE;
    Str name = {"trn2", 4};
    return latency_dram(target_builtin(name), class_partitions(program->class[tensor]), bytes);
}

/* Adds the height of each tensor at the points where it is accessed; `alive` gets the demand. */
static void fill_taken(const Program *program, uint32_t *taken, int64_t *alive) {
    uint32_t *first = NEW_ARRAY(program->arena, uint32_t, program->ntensors);
    uint32_t *last = NEW_ARRAY(program->arena, uint32_t, program->ntensors);
    for (size_t i = program->naccesses; i-- > 0;)
        first[program->accesses[i]] = program->points[i];
    for (size_t i = 0; i < program->naccesses; i++) {
        uint32_t tensor = program->accesses[i];
        last[tensor] = program->points[i];
        uint8_t mask = class_bands((ShapeClass)program->class[tensor]).masks[0];
        for (int q = 0; q < QUADRANTS; q++)
            if (mask >> q & 1)
                taken[(size_t)program->points[i] * QUADRANTS + q] += program->height[tensor];
    }
    for (uint32_t t = 0; t < program->ntensors; t++) {
        alive[first[t]] += program->height[t];
        alive[last[t] + 1] -= program->height[t];
    }
}

/* Half of the peak demand, but no less than any instruction needs. */
static uint32_t choose_size(const Program *program, GapsKind kind, const uint32_t *taken,
                            int64_t *alive) {
    int64_t peak = 0, now = 0;
    for (uint32_t p = 0; p < program->npoints; p++) {
        now += alive[p];
        if (now > peak) peak = now;
    }
    uint32_t size = kind == GAPS_CYCLIC ? 12 * 256 : (uint32_t)(peak / 2);
    if (kind == GAPS_BANDS) size = (uint32_t)(peak / 5);
    for (size_t i = 0; i < (size_t)program->npoints * QUADRANTS; i++)
        if (taken[i] > size) size = taken[i];
    return size;
}

/* The inner points of a gap; of some gaps in GAPS_LOOPS a part in the middle is left out. */
static LiveRange inner_points(const Program *program, GapsKind kind, Chance *chance, uint32_t from,
                              uint32_t to) {
    LiveRange range = {0};
    if (to - from < 2) return range;
    Interval *items = NEW_ARRAY(program->arena, Interval, 2);
    range = (LiveRange){items, 1};
    items[0] = (Interval){from + 1, to - 1};
    if (kind != GAPS_LOOPS || to - from < 6 || chance_percent(chance, 50)) return range;
    uint32_t hole = (uint32_t)chance_between(chance, from + 2, to - 3);
    items[0].last = hole - 1;
    items[1] = (Interval){hole + 1, to - 1};
    range.count = 2;
    return range;
}

static void add_gaps(const Program *program, GapsKind kind, Chance *chance, GapProblem *problem) {
    uint32_t *count = NEW_ARRAY(program->arena, uint32_t, (size_t)program->ntensors + 2);
    for (size_t i = 0; i < program->naccesses; i++)
        count[program->accesses[i] + 2]++;
    for (uint32_t t = 0; t < program->ntensors; t++)
        count[t + 2] = count[t + 1] + (count[t + 2] > 0 ? count[t + 2] - 1 : 0);
    uint32_t *before = NEW_ARRAY(program->arena, uint32_t, program->ntensors);
    for (size_t i = 0; i < program->naccesses; i++) {
        uint32_t t = program->accesses[i], point = program->points[i];
        uint32_t from = before[t];
        before[t] = point + 1;
        if (from == 0) continue;
        int64_t factor = kind == GAPS_LOOPS && chance_percent(chance, 20) ? 16 : 1;
        problem->gaps[count[t + 1]++] =
            (Gap){.points = inner_points(program, kind, chance, from - 1, point),
                  .owner = t,
                  .height = program->height[t],
                  .class = program->class[t],
                  .load = factor * dma_cycles(program, t),
                  .value = program->clean[t] ? UINT32_MAX : t};
        problem->count++;
    }
}

GapProblem gaps_make(GapsKind kind, uint64_t seed, uint32_t size, Arena *arena) {
    Program program = {.arena = arena};
    Chance chance = {seed};
    make_tensors(&program, kind, &chance, size);
    if (kind == GAPS_REVERSE)
        make_reverse(&program);
    else if (kind == GAPS_CYCLIC)
        make_cyclic(&program, size);
    else
        make_random(&program, &chance, size, kind != GAPS_RANDOM);
    uint32_t *taken = NEW_ARRAY(arena, uint32_t, (size_t)program.npoints * QUADRANTS);
    int64_t *alive = NEW_ARRAY(arena, int64_t, (size_t)program.npoints + 1);
    fill_taken(&program, taken, alive);
    int64_t *store = NEW_ARRAY(arena, int64_t, program.ntensors);
    for (uint32_t t = 0; t < program.ntensors; t++)
        store[t] = dma_cycles(&program, t);
    GapProblem problem = {.gaps = NEW_ARRAY(arena, Gap, program.naccesses),
                          .store = store,
                          .nvalues = program.ntensors,
                          .npoints = program.npoints,
                          .taken = taken,
                          .size = choose_size(&program, kind, taken, alive)};
    add_gaps(&program, kind, &chance, &problem);
    return problem;
}

bool gaps_are_full(const GapProblem *problem) {
    for (uint32_t g = 0; g < problem->count; g++)
        if (problem->gaps[g].class != CLASS_FULL) return false;
    return true;
}

static int64_t free_at(const GapProblem *problem, uint32_t point) {
    int64_t room = (int64_t)problem->size - problem->taken[(size_t)point * QUADRANTS];
    return room > 0 ? room : 0;
}

static int64_t cut_cost(const GapProblem *problem, const bool *cut, Arena *arena) {
    bool *stored = NEW_ARRAY(arena, bool, (size_t)problem->nvalues + 1);
    int64_t cost = 0;
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (!cut[g]) continue;
        cost += gap->load;
        if (gap->value == UINT32_MAX || stored[gap->value]) continue;
        stored[gap->value] = true;
        cost += problem->store[gap->value];
    }
    return cost;
}

static bool covers(const Gap *gap, uint32_t point) {
    for (uint32_t i = 0; i < gap->points.count; i++)
        if (gap->points.items[i].first <= point && point <= gap->points.items[i].last) return true;
    return false;
}

static uint32_t end_of(const Gap *gap) {
    return gap->points.items[gap->points.count - 1].last;
}

static int64_t used_at(const GapProblem *problem, const bool *cut, uint32_t point) {
    int64_t used = 0;
    for (uint32_t g = 0; g < problem->count; g++)
        if (!cut[g] && covers(&problem->gaps[g], point)) used += problem->gaps[g].height;
    return used;
}

int64_t gaps_farthest(const GapProblem *problem, Arena *arena) {
    if (!gaps_are_full(problem)) return 0;
    bool *cut = NEW_ARRAY(arena, bool, problem->count);
    for (uint32_t p = 0; p < problem->npoints; p++) {
        int64_t used = used_at(problem, cut, p);
        while (used > free_at(problem, p)) {
            uint32_t victim = problem->count;
            for (uint32_t g = 0; g < problem->count; g++) {
                if (cut[g] || !covers(&problem->gaps[g], p)) continue;
                if (victim == problem->count ||
                    end_of(&problem->gaps[g]) > end_of(&problem->gaps[victim]))
                    victim = g;
            }
            cut[victim] = true;
            used -= problem->gaps[victim].height;
        }
    }
    return cut_cost(problem, cut, arena);
}

static double density(const Gap *gap) {
    double area = 1;
    for (uint32_t i = 0; i < gap->points.count; i++)
        area += (double)gap->height * (gap->points.items[i].last - gap->points.items[i].first + 1);
    return (double)gap->load / area;
}

/* Cuts all gaps of the owner that is cheapest to do without among those at the point. */
static void cut_owner(const GapProblem *problem, bool *cut, uint32_t point) {
    double least = 0;
    uint32_t victim = UINT32_MAX;
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (cut[g] || !covers(gap, point)) continue;
        if (victim != UINT32_MAX && density(gap) >= least) continue;
        least = density(gap);
        victim = gap->owner;
    }
    for (uint32_t g = 0; g < problem->count; g++)
        if (problem->gaps[g].owner == victim && problem->gaps[g].points.count > 0) cut[g] = true;
}

static bool fits(const GapProblem *problem, const int64_t *used, const Gap *gap) {
    for (uint32_t i = 0; i < gap->points.count; i++)
        for (uint32_t p = gap->points.items[i].first; p <= gap->points.items[i].last; p++)
            if (used[p] + gap->height > free_at(problem, p)) return false;
    return true;
}

/* Keeps cut gaps as they fit, the densest first. */
static void keep_what_fits(const GapProblem *problem, bool *cut, Arena *arena) {
    int64_t *used = NEW_ARRAY(arena, int64_t, problem->npoints);
    for (uint32_t p = 0; p < problem->npoints; p++)
        used[p] = used_at(problem, cut, p);
    bool *tried = NEW_ARRAY(arena, bool, problem->count);
    for (;;) {
        uint32_t next = problem->count;
        for (uint32_t g = 0; g < problem->count; g++)
            if (cut[g] && !tried[g] &&
                (next == problem->count ||
                 density(&problem->gaps[g]) > density(&problem->gaps[next])))
                next = g;
        if (next == problem->count) return;
        tried[next] = true;
        const Gap *gap = &problem->gaps[next];
        if (!fits(problem, used, gap)) continue;
        cut[next] = false;
        for (uint32_t i = 0; i < gap->points.count; i++)
            for (uint32_t p = gap->points.items[i].first; p <= gap->points.items[i].last; p++)
                used[p] += gap->height;
    }
}

int64_t gaps_whole(const GapProblem *problem, Arena *arena) {
    if (!gaps_are_full(problem)) return 0;
    bool *cut = NEW_ARRAY(arena, bool, problem->count);
    for (uint32_t p = 0; p < problem->npoints; p++)
        while (used_at(problem, cut, p) > free_at(problem, p))
            cut_owner(problem, cut, p);
    keep_what_fits(problem, cut, arena);
    return cut_cost(problem, cut, arena);
}

/* Granules of quadrants that the kept gaps of some class take at each point. */
static const char *room_fault(const GapProblem *problem, Arena *arena) {
    int64_t *area = NEW_ARRAY(arena, int64_t, (size_t)problem->npoints + 1);
    for (uint32_t g = 0; g < problem->count; g++) {
        const Gap *gap = &problem->gaps[g];
        if (gap->cut) continue;
        uint8_t mask = class_bands((ShapeClass)gap->class).masks[0];
        int64_t taken = (int64_t)gap->height * __builtin_popcount(mask);
        for (uint32_t i = 0; i < gap->points.count; i++) {
            area[gap->points.items[i].first] += taken;
            area[gap->points.items[i].last + 1] -= taken;
        }
    }
    int64_t used = 0;
    for (uint32_t p = 0; p < problem->npoints; p++) {
        int64_t room = 0;
        for (int q = 0; q < QUADRANTS; q++) {
            uint32_t taken = problem->taken[(size_t)p * QUADRANTS + q];
            room += taken < problem->size ? problem->size - taken : 0;
        }
        used += area[p];
        if (used > room) return "more is kept than fits";
    }
    return NULL;
}

const char *gaps_fault(const GapProblem *problem, int64_t cost, Arena *arena) {
    bool *cut = NEW_ARRAY(arena, bool, problem->count);
    for (uint32_t g = 0; g < problem->count; g++)
        cut[g] = problem->gaps[g].cut;
    if (cut_cost(problem, cut, arena) != cost) return "the cost is not that of the gaps cut";
    for (uint32_t g = 0; g < problem->count; g++)
        if (cut[g] && problem->gaps[g].points.count == 0) return "a gap without points is cut";
    return room_fault(problem, arena);
}
