/* Atoms: what the regions of operands leave in one piece. */
#ifndef BOUND_ATOMS_H
#define BOUND_ATOMS_H

#include "ir/ir.h"

/* Cuts of one axis: 0, the places where regions begin and end, and the length. */
typedef struct {
    const int64_t *at; /* [count], ascending */
    uint32_t count;    /* at least 2 */
} AtomCuts;

/* A tensor's blocks are cut alike: into a grid of atoms, numbered row by row. The two ends of a
 * copy are cut alike. */
typedef struct {
    AtomCuts partitions, bytes;
    uint32_t count; /* atoms of a block; 0 where there would be too many */
} AtomGrid;

typedef struct {
    const AtomGrid *grids; /* [ntensors] of sb tensors */
    uint32_t *first_cell;  /* [ntensors + 1] the atoms of all blocks, numbered through */
    uint32_t ncells;
} Atoms;

/* The atoms of a block that an operand names. */
typedef struct {
    uint32_t row, end_row, column, end_column;
} AtomSpan;

/* False where there are more than `most` atoms. O(operands log operands + tensors). */
bool find_atoms(const Func *func, uint32_t most, Arena *arena, Atoms *atoms);

/* Requires a grid with atoms. O(cuts). */
AtomSpan span_of_region(const AtomGrid *grid, const Region *region);

/* Partitions and bytes of an atom. */
Region atom_region(const AtomGrid *grid, uint32_t atom);

#endif
