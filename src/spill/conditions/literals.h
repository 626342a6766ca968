/* The least conjunction of a cell. */
#ifndef SPILL_CONDITIONS_LITERALS_H
#define SPILL_CONDITIONS_LITERALS_H

#include "spill/conditions/cell.h"

enum { CELL_LITERALS = 2 * MOST_FEATURES + CELL_HOLES };

/* `feature comparison rank`, the comparison one of == >= <= !=. */
typedef struct {
    uint32_t feature;
    Comparison comparison;
    uint32_t rank;
} RankLiteral;

typedef struct {
    RankLiteral literals[CELL_LITERALS];
    uint32_t count;
} RankConjunction;

/* All that a cell says: its box, and its holes. */
RankConjunction cell_conjunction(const RankedSamples *ranked, const Cell *cell);

bool conjunction_holds(const RankConjunction *conjunction, const uint32_t *ranks);

/* Replaces each conjunction, given as its cell's, by one with as few literals as it finds that
 * covers the same wanted samples of the list. Unwanted samples that no cell covered are covered by
 * none, and no sample by two. Requires that none was. Returns the number of literals. */
uint32_t shorten_conjunctions(RankedSamples *ranked, SampleList list, RankConjunction *conjunctions,
                              uint32_t count, Arena *scratch);

#endif
