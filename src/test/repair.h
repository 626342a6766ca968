/* Takes out of a random program what it must not do: read what nothing has written. */
#ifndef TEST_REPAIR_H
#define TEST_REPAIR_H

#include "ir/ir.h"
#include "support/arena.h"

/* Runs the function and drops every source that reads a byte before its first write at any step,
 * or that no write stands before in program order (but for a conditional read defined later in its
 * loop). `+=` turns to `=` where its destination does so. Then drops `output` from what is neither
 * input nor written. Changes func in place. */
void repair_reads(Func *func, Arena *arena);

#endif
