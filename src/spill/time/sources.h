/* Where the values of a class lie in DRAM, in terms of the text. */
#ifndef SPILL_TIME_SOURCES_H
#define SPILL_TIME_SOURCES_H

#include "spill/time/time_facts.h"

/* Requires classes. Fills facts->sources: for each class with a source one affine form of the block
 * there that is right for all of its gaps: the index of the load or save itself, the operand's own
 * index moved by a constant, or any that fits; without terms where there is none: then the gaps of
 * the class lose their source, and are stored. O(gaps times depth). */
void find_source_forms(TimeFacts *facts, Arena *arena);

#endif
