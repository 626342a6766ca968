/* Writes the interference graph of each function, for other programs. */
#ifndef OUTPUT_GRAPH_H
#define OUTPUT_GRAPH_H

#include "ir/ir.h"
#include "support/writer.h"

/* DIMACS: for each function `c function NAME`, `p edge NODES EDGES`, a line `c node ID NAME` a
 * node and a line `e ID ID` an edge, nodes counted from 1. */
void write_graph_dimacs(const Module *module, Writer *out);

/* `{"functions": [{"name", "nodes": [{"id", "tensor", "class", "bytes", "blocks"}],
 * "edges": [[i, j]]}]}`, nodes counted from 0, `class` as in ir/geometry.h. */
void write_graph_json(const Module *module, Writer *out);

#endif
