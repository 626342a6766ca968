#include "spill/time/project.h"

#include <string.h>

enum { MOST_STEPS = 100000000 };

typedef struct {
    const TimeFacts *facts; /* of the webs */
    const bool *kept;
    const Rewritten *text;
    Arena *arena; /* of the result */
    Arena scratch;
    bool *lives;     /* [ninsts of the webs' function] the cell at hand does there */
    uint32_t nlive;  /* how many of them */
    bool *at;        /* [ninsts of the text] the same there */
    bool *any;       /* [ninsts of the text] some block of the tensor at hand does */
    const Live *own; /* of the text, as it stands: nothing lives beyond these */
    uint64_t steps;  /* left */
} Projection;

static void mark_point(Projection *pass, uint32_t point) {
    bool *lives = &pass->lives[pass->facts->timeline.points[point].inst];
    pass->nlive += !*lives;
    *lives = true;
}

static void mark_range(Projection *pass, LiveRange range) {
    for (uint32_t i = 0; i < range.count; i++)
        for (uint32_t p = range.items[i].first; p <= range.items[i].last; p++) {
            if (pass->nlive == pass->facts->func->ninsts || pass->steps == 0) return;
            pass->steps--;
            mark_point(pass, p);
        }
}

static void mark_cell(Projection *pass, uint32_t cell) {
    const Cells *cells = &pass->facts->cells;
    const TimeGaps *gaps = &pass->facts->gaps;
    memset(pass->lives, 0, pass->facts->func->ninsts);
    pass->nlive = 0;
    uint32_t end = cells->first[cell + 1];
    for (uint32_t a = cells->first[cell]; a < end; a++) {
        mark_point(pass, cells->accesses[a].point);
        uint32_t g = gaps->of[a];
        if (g == UINT32_MAX || !pass->kept[g]) continue;
        mark_range(pass, gaps->gaps[g].points);
        mark_range(pass, gaps->gaps[g].tail);
    }
    if (!pass->facts->func->tensors[cells->tensor[cell]].output || cells->first[cell] == end)
        return;
    Interval rest = {cells->accesses[end - 1].point, pass->facts->timeline.npoints - 1};
    mark_range(pass, (LiveRange){&rest, 1});
}

/* True if an inserted DMA may name the block. */
static bool may_name(const Projection *pass, uint32_t inst, uint32_t tensor, int64_t block) {
    const Func *func = pass->text->func;
    for (uint32_t o = 0; o < 2; o++) {
        const Operand *operand = &func->insts[inst].operands[o];
        BlockSpan span = operand_blocks(func, operand);
        if (operand->tensor == tensor && span.first <= block && block <= span.last) return true;
    }
    return false;
}

/* From instructions of the input to points of the text. */
static void move_to_text(Projection *pass, uint32_t tensor, int64_t block) {
    const Func *func = pass->text->func;
    const uint32_t *origin = pass->text->origin_inst;
    bool before = false;
    for (uint32_t p = 0; p < func->ninsts; p++) {
        if (origin[p] != INSERTED) {
            before = pass->at[p] = pass->lives[origin[p]];
            continue;
        }
        uint32_t next = p;
        while (next < func->ninsts && origin[next] == INSERTED)
            next++;
        bool behind = next < func->ninsts && pass->lives[origin[next]];
        pass->at[p] = (before && behind) || may_name(pass, p, tensor, block);
    }
}

static LiveRange range_of(Projection *pass, const bool *at) {
    uint32_t ninsts = pass->text->func->ninsts, count = 0;
    for (uint32_t p = 0; p < ninsts; p++)
        count += at[p] && (p == 0 || !at[p - 1]);
    Interval *items = RAW_ARRAY(pass->arena, Interval, count);
    count = 0;
    for (uint32_t p = 0; p < ninsts; p++) {
        if (!at[p]) continue;
        if (p == 0 || !at[p - 1]) items[count++].first = p;
        items[count - 1].last = p;
    }
    return (LiveRange){items, count};
}

static void project_tensor(Projection *pass, uint32_t tensor, Live *live) {
    const Cells *cells = &pass->facts->cells;
    uint32_t first = cells->first_cell[tensor], end = cells->first_cell[tensor + 1];
    uint32_t ninsts = pass->text->func->ninsts;
    memset(pass->any, 0, ninsts);
    LiveRange *blocks = RAW_ARRAY(pass->arena, LiveRange, end - first);
    for (uint32_t c = first; c < end; c++) {
        mark_cell(pass, c);
        pass->steps -= ninsts < pass->steps ? ninsts : pass->steps;
        if (pass->nlive > 0)
            move_to_text(pass, tensor, c - first);
        else
            memset(pass->at, 0, ninsts);
        LiveRange most = live_block(pass->own, tensor, c - first);
        for (uint32_t p = 0; p < ninsts; p++)
            pass->at[p] &= live_at(most, p);
        blocks[c - first] = range_of(pass, pass->at);
        for (uint32_t p = 0; p < ninsts; p++)
            pass->any[p] |= pass->at[p];
    }
    live->whole[tensor] = range_of(pass, pass->any);
    if (end - first > 1) live->blocks[tensor] = blocks;
}

void project_live(const Webs *webs, const bool *kept, Rewritten *rewritten, Arena *arena) {
    const Func *func = webs->facts.func;
    uint32_t ntensors = rewritten->func->ntensors, ninsts = rewritten->func->ninsts;
    Projection pass = {.facts = &webs->facts,
                       .kept = kept,
                       .text = rewritten,
                       .own = rewritten->live,
                       .arena = arena,
                       .steps = MOST_STEPS};
    arena_init(&pass.scratch);
    pass.lives = NEW_ARRAY(&pass.scratch, bool, func->ninsts);
    pass.at = NEW_ARRAY(&pass.scratch, bool, ninsts);
    pass.any = NEW_ARRAY(&pass.scratch, bool, ninsts);
    Live *live = NEW(arena, Live);
    live->whole = NEW_ARRAY(arena, LiveRange, ntensors);
    live->blocks = arena_alloc(arena, ntensors, sizeof *live->blocks);
    for (uint32_t t = 0; t < func->ntensors && pass.steps > 0; t++)
        if (func->tensors[t].space == SPACE_SB) project_tensor(&pass, t, live);
    if (pass.steps > 0) rewritten->live = live;
    arena_free(&pass.scratch);
}
