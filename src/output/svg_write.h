/* Pieces of an SVG file: lengths, texts, numbers. Lengths are integers in hundredths of a pixel, so
 * that no rounding and no locale can change the bytes. */
#ifndef OUTPUT_SVG_WRITE_H
#define OUTPUT_SVG_WRITE_H

#include "support/writer.h"

enum { PX = 100 /* lengths of one pixel */ };

typedef enum { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } Anchor;

/* `12.34`, without trailing zeros. */
void svg_length(Writer *out, int64_t length);

/* ` name="12.34"`. */
void svg_attribute(Writer *out, const char *name, int64_t length);

/* ` x="" y="" width="" height=""`. */
void svg_box(Writer *out, int64_t x, int64_t y, int64_t width, int64_t height);

/* An element `line` of a class. */
void svg_line(Writer *out, const char *class, int64_t x1, int64_t y1, int64_t x2, int64_t y2);

/* Opens an element `text` of a class ("" for none); write the content with what follows here. */
void svg_open_text(Writer *out, const char *class, int64_t x, int64_t y, Anchor anchor);
void svg_close_text(Writer *out);

/* A whole one. */
void svg_text(Writer *out, const char *class, int64_t x, int64_t y, Anchor anchor,
              const char *text);

/* Text as content: `&`, `<`, `>` and quotes escaped, characters that XML forbids replaced. */
void svg_escape(Writer *out, Str text);

/* Columns that the text takes in a font of fixed width: 2 for wide characters. */
uint32_t svg_columns(Str text);

/* The text as content, cut to `columns` with an ellipsis where it is longer. */
void svg_clip(Writer *out, Str text, uint32_t columns);

/* What is shown where the pointer rests on the element that it stands in. */
void svg_title(Writer *out, Str text);

/* svg_clip(), and where that cuts the whole text as title. */
void svg_clip_titled(Writer *out, Str text, uint32_t columns);

/* `180,224`. */
void svg_number(Writer *out, int64_t number);

/* `1 reload`, `2 reloads`: the plural adds an s. */
void svg_count(Writer *out, int64_t number, const char *noun);

/* A multiple of `step`, a power of two, in its unit: `28 KiB`, `1,536 B`. */
void svg_bytes(Writer *out, int64_t bytes, int64_t step);

#endif
