/* The report of an allocation, as members of a JSON object. */
#ifndef OUTPUT_STATS_H
#define OUTPUT_STATS_H

#include "driver/allocate.h"
#include "output/json_write.h"

/* The keys of a report from `function` to `peaks`, into an object that is open. `seconds`: and
 * those, which differ from run to run, and lines, which differ with the form of the input. */
void json_report(JsonOut *json, Str function, const Report *report, bool seconds);

/* One line of --stats. */
void write_stats(Str file, Str function, const Report *report, Writer *out);

/* The line of a function that could not be allocated. */
void write_stats_error(Str file, Str function, Str error, Writer *out);

#endif
