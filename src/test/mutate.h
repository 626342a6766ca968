/* Mutants: a result that is changed in one way, and two verdicts on it, the referee's and that of a
 * plain byte-by-byte run. */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H

#include "ir/ir.h"
#include "test/chance.h"

/* A result under change; the arrays are its own. */
typedef struct {
    const Func *original;
    Func func;
    const Target *target;
    uint32_t *pair; /* [ninsts] the instruction of the original, UINT32_MAX: inserted */
    uint32_t *of;   /* [ntensors] the tensor of the original that it is or stands for */
    bool in_place;  /* the original has no marks of spill code: what has one is inserted */
    Arena *arena;
    Chance *chance;
} Mutant;

/* What the referee must say of a mutant. */
typedef enum {
    RULE_RUN,   /* what the run says */
    RULE_FORM,  /* that, or that its form is wrong: spill code may serve one tensor only, homes may
                   lie over nothing of the original's */
    RULE_WRONG, /* that it is wrong, whatever it does to behaviour */
} MutationRule;

typedef struct {
    const char *name;
    bool (*change)(Mutant *m); /* false: nothing there to change */
    MutationRule rule;
} Mutation;

enum { MUTATIONS = 37 };
extern const Mutation MUTATION_TABLE[MUTATIONS];

typedef enum {
    MUTANT_REFUSED, /* rightly */
    MUTANT_IDLE,    /* rightly accepted: no step differs from the unchanged result's */
    MUTANT_UNREAD,  /* rightly accepted: steps differ, but each read finds what it did */
    MUTANT_FORM,    /* refused for its form, as RULE_FORM allows, though nothing else is read */
    MUTANT_WRONG,   /* accepted, though something else is read */
    MUTANT_STRICT,  /* refused, though nothing else is read */
    MUTANT_NONE,    /* nothing there to change */
    MUTANT_VERDICTS
} MutantVerdict;

/* The result, with its instructions and tensors found in the original. Everything lives in `arena`;
 * `chance` decides what is changed. */
Mutant mutant_base(const Func *original, const Func *result, const Target *target, Chance *chance,
                   Arena *arena);

/* The tensor is not the original's, but a working copy or a home. */
bool mutant_is_new(const Mutant *m, uint32_t tensor);

/* Prints original and result to stderr, and what the referee does of the mutation `name`. */
void mutant_print(const Mutant *m, const char *name, const char *where, const char *does);

bool referee_accepts(const Mutant *m);
bool bytes_accept(const Mutant *m);

/* Changes a copy of `base`, which both accept, and compares what both say of it. Prints both
 * programs to stderr where they differ, under the heading `where`. */
MutantVerdict mutant_try(const Mutation *mutation, const Mutant *base, const char *where);

#endif
