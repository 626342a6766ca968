/* Partners: tensors that a copy relates and that could share one place. */
#ifndef ANALYSIS_PARTNERS_H
#define ANALYSIS_PARTNERS_H

#include "analysis/access.h"
#include "analysis/node.h"

/* A copy whose two ends could lie in one place. */
typedef struct {
    uint32_t inst;
    uint32_t dst, src; /* nodes */
} Partner;

typedef struct {
    Partner *items; /* in program order */
    uint32_t count;
    uint32_t groups; /* sets of partners, connected, with a tensor written by `+=` in each */
} Partners;

/* True if the copy would do nothing where its ends lie in one place: whole blocks, the same in
 * both, of tensors of one shape. */
bool copy_is_elidable(const Func *func, const Inst *inst);

/* Copies that may leave their value where it is. */
typedef struct {
    const Func *func;
    const Nodes *nodes; /* of one tensor each */
    bool *elidable;     /* [ninsts] */
    uint32_t count;     /* of those */
    Accesses accesses;  /* where there are some */
} Handing;

/* O(operands). */
Handing find_handing(const Func *func, const Nodes *nodes, Arena *arena);

/* Nodes that are one already: which group each belongs to, and the next of its group, in a ring. */
typedef struct {
    const uint32_t *of;   /* [nodes of the function] */
    const uint32_t *next; /* [nodes of the function] */
} NodeGroups;

/* True if nodes a and b, each the nodes of a group, could have one place: no instruction writes one
 * of them while the other lives, but copies between them (Chaitin). So from a copy on both may
 * live, whatever reads them, until one is written, for they have one value. O(nodes of the groups
 * times intervals in which they meet times log accesses + writes there). Source: Chaitin, "Register
 * allocation and spilling via graph coloring" (1982). */
bool partners_meet_rightly(const Handing *handing, NodeGroups groups, const Node *a, const Node *b);

/* The cost of partners_meet_rightly() for each copy. */
Partners find_partners(const Handing *handing, Arena *arena);

/* Links partners in rings by Node.partner, so that those of one set can be found from each other;
 * `into[n]` is the node of `nodes` that node n of the partners became. Requires nodes without
 * partners. O(partners times the length of their rings). */
void link_partners(const Partners *partners, const uint32_t *into, Nodes *nodes);

#endif
