/* Draws allocations as one SVG file: functions one below another. */
#ifndef OUTPUT_SVG_H
#define OUTPUT_SVG_H

#include "output/compare.h"
#include "output/usage.h"

/* Points run across, bytes go up, one lane for each set of quadrants that hold the same. Requires
 * functions that were allocated. The same input gives the same bytes. What would be smaller than a
 * pixel is merged, and of each function the largest rectangles are drawn one by one and the rest
 * together, so that a function takes some megabytes at most. O(points + blocks + intervals), with
 * a logarithm where rectangles have to be chosen. */
void write_svg(const Drawing *drawing, Writer *out);

/* Each function before and after, one below the other on one scale, what has changed with a strong
 * edge. Requires what compare_modules() found between the two files. */
void write_svg_changes(const Drawing drawings[SIDES], const Changes *changes, Writer *out);

#endif
