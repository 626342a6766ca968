/* Advice: what would make a function fit, in words. */
#ifndef DRIVER_ADVICE_H
#define DRIVER_ADVICE_H

#include "driver/peak.h"
#include "driver/would_fit.h"

typedef struct {
    Span span; /* what it is about */
    Str text;  /* `would fit: ...`, or that nothing was found */
} AdviceLine;

typedef struct {
    AdviceLine *items;
    uint32_t count;
} Advice;

/* Who takes the room at a peak. */
Shortage shortage_at(const Peak *peak, Arena *arena);

/* A line for each change that would help, or one that none was found, or no time is left; none
 * where thousands of tensors take the room: no change helps then, and each try is long. See
 * find_changes(). */
Advice find_advice(const FitQuestion *question, const Shortage *shortage, Arena *arena);

#endif
