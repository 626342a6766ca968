/* Few cells that cover as little as they can of what is unwanted. */
#ifndef SPILL_CONDITIONS_RELAX_H
#define SPILL_CONDITIONS_RELAX_H

#include "spill/conditions/tree.h"

/* Adds to a cell the values that the tree, or the splits, above it have cut out. */
void add_path_hole(Cell *cell, const TreeNode *split);

/* Splits the samples into at most `most` cells, one after another where that saves most weight.
 * Returns how many have a wanted sample; those are in `cells`, disjoint. O(most * probes), of
 * O(samples * nfeatures) each, at most some twenty for each feature. */
uint32_t relax_cells(RankedSamples *ranked, SampleList list, uint32_t most, Cell *cells,
                     Arena *scratch);

#endif
