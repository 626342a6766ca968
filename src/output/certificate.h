/* The prices that prove a bound, for --certificate: a stranger can add them up
 * (scripts/check-bound).
 *
 * `{"format": "sballoc certificate", "version": 1, "functions": [{"name", "bound_cycles", "bits",
 * "rows": [{"point", "divisors", "prices"}]}]}`: points are those of the function laid out in time,
 * counted from 1; a price is of a granule of each lane, in units of 2^-(16 + bits) cycles; each
 * divisor divides the heights of all that competes there. Rows without a price are left out. */
#ifndef OUTPUT_CERTIFICATE_H
#define OUTPUT_CERTIFICATE_H

#include "driver/allocate.h"
#include "support/writer.h"

/* One function: what bounds it, null bound_cycles where nothing does. */
typedef struct {
    Str name;
    const Report *report;
    const Bound *bound;
} Certified;

void write_certificate(const Certified *items, uint32_t count, Writer *out);

#endif
