/* Writes allocations as one self-contained HTML page to zoom, search and click through. */
#ifndef OUTPUT_PAGE_H
#define OUTPUT_PAGE_H

#include "output/compare.h"
#include "output/usage.h"

/* The page holds its script and style (of the directory page), and the functions as JSON in
 * the element `data`: see page.c. Nothing is fetched. Requires functions that were allocated.
 * O(operands + blocks + intervals). */
void write_html(const Drawing *drawing, Writer *out);

/* The same of two files: each function before and after. Requires what compare_modules() found
 * between them. */
void write_html_changes(const Drawing drawings[SIDES], const Changes *changes, Writer *out);

#endif
