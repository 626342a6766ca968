#include "driver/allocate.h"

#include "analysis/live.h"
#include "driver/finish.h"
#include "driver/fixed.h"
#include "driver/impossible.h"
#include "spill/homes.h"
#include "spill/lastresort.h"
#include "spill/legalize.h"
#include "verify/verify.h"

static Str *tensor_names(const Func *func, Arena *arena) {
    Str *names = RAW_ARRAY(arena, Str, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        names[t] = func->tensors[t].name;
    return names;
}

static bool judge(const Func *func, const Func *result, const Target *target,
                  const Options *options, DiagQueue *diags) {
    VerifyOptions verify_options = {.placed = options->emit != EMIT_SPILLED};
    return !options->verify || verify(func, result, target, verify_options, diags);
}

Allocation allocate(const Func *func, const Target *target, const Options *options, Arena *arena,
                    DiagQueue *diags) {
    Allocation allocation = {.func = func};
    allocation.live = live_range(func, arena);
    if (!check_fixed(func, &allocation.live, diags)) {
        allocation.status = WRONG_INPUT;
        return allocation;
    }
    if (is_placed(func)) {
        bool good = verify(func, func, target, (VerifyOptions){.placed = true}, diags);
        allocation.status = good ? ALLOCATED : WRONG_RESULT;
        return allocation;
    }
    Plan plan = plan_make(func, arena);
    Sources sources = sources_make(&plan, arena);
    Rewritten result;
    LastResort outcome = last_resort(&plan, &sources, target, arena, &result);
    if (!outcome.placed) {
        report_impossible(func, &allocation.live, target, outcome.inst, outcome.proved, diags);
        allocation.status = NOT_ALLOCATED;
        return allocation;
    }
    legalize(&result, tensor_names(func, arena), arena);
    allocation.report.dram_spill_bytes = place_homes(&result, arena);
    allocation.report.last_resort = true;
    mark_copies(result.func, arena);
    mark_header(result.func, true, arena);
    allocation.func = result.func;
    allocation.live = live_range(result.func, arena);
    if (!judge(func, result.func, target, options, diags)) allocation.status = WRONG_RESULT;
    return allocation;
}
