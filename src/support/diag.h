/* Diagnostics are values: queued where they arise, sorted and printed once. */
#ifndef SUPPORT_DIAG_H
#define SUPPORT_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "support/source.h"

typedef enum { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } Severity;

typedef struct {
    Severity severity;
    Span span;      /* where the caret goes; what it underlines */
    bool has_place; /* false: about the file as a whole */
    bool no_source; /* a note that needs no source line below it */
    bool no_path;   /* in JSON: the text names its path already, or there is none */
    Str text;       /* one line, without the severity; for JSON input it begins with the path */
    uint32_t order; /* when it was queued: the last key of the sort */
} Diag;

/* A queue. Notes belong to the error or warning queued before them and move with it. */
typedef struct {
    Arena *arena; /* holds the texts; outlives the queue */
    Diag *items;
    size_t count, capacity;
    uint32_t errors, warnings;
} DiagQueue;

void diag_init(DiagQueue *queue, Arena *arena);

__attribute__((format(printf, 3, 4))) void diag_error(DiagQueue *queue, Span span,
                                                      const char *format, ...);
__attribute__((format(printf, 3, 4))) void diag_warning(DiagQueue *queue, Span span,
                                                        const char *format, ...);
/* A note below the diagnostic queued last; `with_source`: with its source line and caret. */
__attribute__((format(printf, 4, 5))) void diag_note(DiagQueue *queue, Span span, bool with_source,
                                                     const char *format, ...);
/* An error and a warning about the file as a whole. */
__attribute__((format(printf, 2, 3))) void diag_file_error(DiagQueue *queue, const char *format,
                                                           ...);
__attribute__((format(printf, 2, 3))) void diag_file_warning(DiagQueue *queue, const char *format,
                                                             ...);

/* Moves everything in `from` behind what `to` holds. */
void diag_append(DiagQueue *to, const DiagQueue *from);

void diag_clear(DiagQueue *queue);

/* A message as it is shown: of words of more than 200 bytes and of what is longer than 1,000 bytes
 * even so, only both ends. */
Str diag_shorten(Str text, Arena *arena);

enum { DIAG_MOST_SHOWN = 20 /* errors, and as many warnings */ };

/* What is to be shown, in order of place (then of queueing): all but warnings beyond
 * DIAG_MOST_SHOWN, or all of them where `quiet`, likewise errors, and their notes. In `arena`;
 * `count` is set. */
const Diag **diag_shown(const DiagQueue *queue, bool quiet, Arena *arena, size_t *count);

const char *severity_name(Severity severity);

typedef struct {
    bool quiet; /* errors and their notes only */
    bool color; /* ANSI colours */
} DiagStyle;

/* Prints all in order of place (then of queueing), at most 20 errors and 20 warnings
 * and then how many more, as
 * `FILE:LINE:COLUMN: error: TEXT`, the source line and a caret line. Empties the queue. */
void diag_print(DiagQueue *queue, const Source *source, DiagStyle style, FILE *out);

#endif
