/* Names that the allocator makes from those of the input. */
#ifndef IR_NAMES_H
#define IR_NAMES_H

#include "support/str.h"

/* What stands between the name of a tensor and a number, in the name of a working copy of it, of
 * its home and of an independent part. */
#define COPY_MARK "_ReloadStore"
#define HOME_MARK "_SpillSave"
#define PART_MARK "_Split"

/* The next of NAME MARK 1, NAME MARK 2 ... that is not taken; `serial` is the last number used. */
Str derived_name(const StrMap *taken, Str name, const char *mark, uint32_t *serial, Arena *arena);

/* True if `name` is STEM MARK and a number; sets *stem. */
bool derived_stem(Str name, const char *mark, Str *stem);

#endif
