/* Partners: tensors that a copy relates and that could share one place. */
#ifndef ANALYSIS_PARTNERS_H
#define ANALYSIS_PARTNERS_H

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

/* Copies that end their sources. */
typedef struct {
    const Func *func;
    const Nodes *nodes; /* of one tensor each */
    bool *ends_source;  /* [ninsts] elidable, and its source is not needed beyond it by the loops
                           around it or as an output, so far as the copy itself tells */
    uint32_t count;     /* of those */
} Handing;

/* O(operands + copies times loops around them). */
Handing find_handing(const Func *func, const Nodes *nodes, Arena *arena);

/* True if nodes a and b are live together nowhere but at copies between them, at which one ends and
 * the other begins. Both may be several tensors already: group[n] tells which node of the function
 * (numbered as in handing->nodes) belongs to which. O(intervals + points where they meet). */
bool partners_meet_rightly(const Handing *handing, const uint32_t *group, const Node *a,
                           const Node *b);

/* O(instructions + intervals of the ends of copies). */
Partners find_partners(const Handing *handing, Arena *arena);

/* Links partners in rings by Node.partner, so that those of one set can be found from each other;
 * `into[n]` is the node of `nodes` that node n of the partners became. Requires nodes without
 * partners. O(partners times the length of their rings). */
void link_partners(const Partners *partners, const uint32_t *into, Nodes *nodes);

#endif
