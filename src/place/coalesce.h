/* Coalescing: partners that share one node. */
#ifndef PLACE_COALESCE_H
#define PLACE_COALESCE_H

#include "analysis/interfere.h"
#include "analysis/partners.h"
#include "place/capacity.h"

typedef struct {
    uint32_t size;      /* granules of the byte axis */
    const bool *frozen; /* [partners] leave these alone */
    bool conservative;  /* merge only what stays as easy to colour; else all that is legal */
    const Graph *graph; /* of the nodes as they are; where conservative */
} CoalesceOptions;

typedef struct {
    Nodes nodes;    /* partners merged; costs are sums */
    uint32_t *into; /* [nodes before] the node that each is a part of now */
    uint32_t merges;
} Merged;

/* Merges partners, those in deep loops first, where their ranges overlap only at copies between
 * them and the whole fits the State Buffer. A partner of a fixed node must be able to have that
 * place. Conservative: only where the merged node is colourable wherever its neighbours are, or
 * where one end gains no neighbour that could take a place of it. Requires nodes without partners;
 * links those that stay partners in rings. O(partners times (neighbours + intervals of their
 * groups)). Sources: Briggs, Cooper and Torczon, "Improvements to graph coloring register
 * allocation" (1994); George and Appel, "Iterated register coalescing" (1996). */
Merged coalesce(const Handing *handing, const Partners *partners, CoalesceOptions options,
                Arena *arena);

#endif
