#include "driver/failure.h"

#include "driver/advice.h"
#include "driver/feasible.h"
#include "driver/peak_text.h"

const Peak *find_own_peak(const Asked *asked, bool least) {
    Live live = live_range(asked->func, asked->arena);
    PeakOf of = {.func = asked->func,
                 .live = &live,
                 .target = asked->target,
                 .source = asked->options->source,
                 .least = least};
    return find_peak(&of, asked->arena);
}

bool must_spill(const Asked *asked, const Peak *peak) {
    if (!peak || peak->needed <= peak->usable) return false;
    const Peak *least = find_own_peak(asked, true);
    return least && least->needed > least->usable;
}

/* What would help, in notes; `may_spill`: to be allocated at all. */
static void note_advice(const Asked *asked, const Shortage *shortage, bool may_spill) {
    if (!asked->options->advise) return;
    FitQuestion question = {asked->func, asked->target, asked->options, may_spill};
    Advice advice = find_advice(&question, shortage, asked->arena);
    for (uint32_t i = 0; i < advice.count; i++)
        diag_note(asked->diags, advice.items[i].span, false, "%.*s",
                  STR_ARGS(advice.items[i].text));
}

void report_spilled_anyway(const Asked *asked, const Peak *peak) {
    Span span = asked->func->insts[peak->at.point].span;
    TextLines lines = peak_lines(peak, asked->options->source, asked->arena);
    diag_error(asked->diags, span, "couldn't allocate every tensor in SB without spilling");
    for (uint32_t i = 0; i < lines.count; i++)
        diag_note(asked->diags, span, false, "%.*s", STR_ARGS(lines.items[i]));
    if (peak->needed <= peak->usable)
        diag_note(asked->diags, span, false, "that fits, but no placement of everything was found");
    Shortage shortage = shortage_at(peak, asked->arena);
    note_advice(asked, &shortage, false);
}

void report_failure(const Asked *asked, uint32_t inst, bool proved) {
    Live live = live_range(asked->func, asked->arena);
    Infeasible what = {asked->func, &live, asked->target, inst, proved};
    Shortage shortage = report_infeasible(&what, asked->diags, asked->arena);
    note_advice(asked, &shortage, !asked->options->no_spill);
}
