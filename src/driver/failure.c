#include "driver/failure.h"

#include "driver/advice.h"
#include "driver/feasible.h"
#include "driver/peak_text.h"

const Peak *find_own_peak(const Subject *subject, bool least) {
    Live live = live_range(subject->func, subject->arena);
    PeakOf of = {.func = subject->func,
                 .live = &live,
                 .target = subject->target,
                 .source = subject->options->source,
                 .least = least};
    return find_peak(&of, subject->arena);
}

bool must_spill(const Subject *subject, const Peak *peak) {
    if (!peak || peak->needed <= peak->usable) return false;
    const Peak *least = find_own_peak(subject, true);
    return least && least->needed > least->usable;
}

/* What would help, in notes; `may_spill`: to be allocated at all. */
static void note_advice(const Subject *subject, const Shortage *shortage, bool may_spill) {
    if (!subject->options->advise) return;
    FitQuestion question = {subject->func, subject->target, subject->options, may_spill,
                            subject->deadline};
    Advice advice = find_advice(&question, shortage, subject->arena);
    for (uint32_t i = 0; i < advice.count; i++)
        diag_note(subject->diags, advice.items[i].span, false, "%.*s",
                  STR_ARGS(advice.items[i].text));
}

void report_spilled_anyway(const Subject *subject, const Peak *peak) {
    Span span = subject->func->insts[peak->at.point].span;
    TextLines lines = peak_lines(peak, subject->options->source, subject->arena);
    diag_error(subject->diags, span, "couldn't allocate every tensor in SB without spilling");
    for (uint32_t i = 0; i < lines.count; i++)
        diag_note(subject->diags, span, false, "%.*s", STR_ARGS(lines.items[i]));
    if (peak->needed <= peak->usable)
        diag_note(subject->diags, span, false,
                  "that fits, but no placement of everything was found");
    Shortage shortage = shortage_at(peak, subject->arena);
    note_advice(subject, &shortage, false);
}

/* Without spilling everything that lives has to fit, not what the instruction names alone. The same
 * where no change can be tried. */
static Shortage shortage_of_all(const Subject *subject, Shortage of_instruction) {
    if (work_of_try(subject->func) > MOST_WORK_OF_TRIES) return of_instruction;
    const Peak *peak = find_own_peak(subject, false);
    if (!peak || peak->needed <= peak->usable) return of_instruction;
    Shortage shortage = shortage_at(peak, subject->arena);
    if (shortage.over < of_instruction.over) shortage.over = of_instruction.over;
    return shortage;
}

void report_failure(const Subject *subject, uint32_t inst, bool proved) {
    Live live = live_range(subject->func, subject->arena);
    Infeasible what = {subject->func, &live, subject->target, inst, proved};
    Shortage shortage = report_infeasible(&what, subject->diags, subject->arena);
    if (subject->options->no_spill && subject->options->advise)
        shortage = shortage_of_all(subject, shortage);
    note_advice(subject, &shortage, !subject->options->no_spill);
}
