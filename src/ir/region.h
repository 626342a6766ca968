/* Regions: parts of a block, in partitions and bytes. */
#ifndef IR_REGION_H
#define IR_REGION_H

#include "ir/ir.h"

/* All of a block. */
Region whole_region(const Tensor *tensor);

/* What an operand names of each block. */
Region operand_region(const Func *func, const Operand *operand);

bool region_equal(Region a, Region b);

/* The smallest region that holds both. One that is all zeros holds nothing. */
Region region_hull(Region a, Region b);

/* The least part of a block of an sb tensor around a region that a tensor of its own can hold in
 * the same partitions: whole granules, whole quadrants, and a band that starts where one may. All
 * partitions where nothing says in which the tensor starts. */
Region region_widened(const Tensor *tensor, Region region);

/* A tensor like that one for such a part of its blocks. */
Tensor tensor_of_region(const Tensor *tensor, Region region, Arena *arena);

#endif
