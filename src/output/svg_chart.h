/* The drawing of one function: where everything lies, and the parts that draw it. Lengths are in
 * hundredths of a pixel (output/svg_write.h); y grows downwards from the function's own top. */
#ifndef OUTPUT_SVG_CHART_H
#define OUTPUT_SVG_CHART_H

#include "analysis/access.h"
#include "ir/dma.h"
#include "output/svg_write.h"
#include "output/usage.h"

/* One rectangle of the picture: blocks [block, end_block) of a tensor over one interval. */
typedef struct {
    uint32_t tensor, block, end_block;
    Interval live;
    int64_t low, high; /* bytes */
    uint8_t mask;      /* quadrants */
    bool alone;        /* drawn by itself; else together with others that are small */
    bool covered;      /* an earlier one of its tensor is the same rectangle, and drawn for both */
    bool shares;       /* others have the same bytes at the same points, in other iterations */
    uint32_t next;     /* the piece that is the same rectangle, or NO_PIECE */
} ChartPiece;

#define NO_PIECE UINT32_MAX

/* A rectangle on the page. */
typedef struct {
    int64_t x, y, width, height;
} ChartBox;

/* Quadrants that hold the same things at the same places all the time. */
typedef struct {
    uint8_t mask;
    int64_t top, height;
    int64_t ceiling; /* bytes at its top edge */
} Lane;

/* The time that an original spends in DRAM between two of its working copies. */
typedef struct {
    uint32_t before, after; /* tensors: the copies */
} ChartGap;

/* What the picture shows, for its legend and its rows. */
typedef struct {
    bool input, output, pinned, fixed, copy, gap, spill, reload, dma, crowd, idle, hole, room,
        changed;
} Features;

/* Colours by name, which pictures beside each other have in common. */
typedef struct {
    StrMap of;      /* by name or family */
    uint32_t taken; /* bit c: colour c is */
    bool begun;     /* the first picture has decided: */
    bool families;  /* names of one family have one colour */
} Palette;

/* What pictures beside each other must have room for, so that their scales are one; 0: nothing. */
typedef struct {
    uint32_t points, tensors, lanes;
    int64_t most, usable; /* bytes */
} ChartScale;

/* What is drawn. */
typedef struct {
    const Drawing *drawing;
    uint32_t index;      /* of the function */
    const Usage *usage;  /* of it */
    Palette *palette;    /* where it is to agree with other pictures, else NULL */
    const char *side;    /* follows the name in the heading: of a file that was placed, in which no
                            place is told to have been given */
    const bool *changed; /* [ntensors] drawn with a strong edge, or NULL */
    ChartScale scale;    /* of all */
} ChartRequest;

/* The largest free rectangle at the worst point. */
typedef struct {
    Interval points;
    int64_t low, high; /* bytes; equal: there is none */
    uint8_t mask;
} FreeRoom;

/* Part of a lane that is free, for columns of points [first, end), but not all that is free there:
 * a larger stretch is as well. */
typedef struct {
    uint32_t first, end;
    int64_t low, high;
    uint8_t lane;
} FreePiece;

typedef struct {
    Arena *arena; /* of this function's drawing */
    const Target *target;
    const JsonFunc *item;
    const Func *func;
    uint32_t points;
    const ChartRequest *request;
    const Usage *usage;
    const uint32_t *need; /* [points] granules taken */
    Accesses accesses;
    Str *original;             /* [ntensors] of a working copy: what it is a copy of; else empty */
    ChartPiece *pieces;        /* [npieces] by tensor, block, point */
    size_t npieces, ntogether; /* ntogether: those that are not alone */
    uint32_t *drawn;           /* [ndrawn] those drawn one by one, what lies lowest first */
    size_t ndrawn;
    bool *shown;     /* [ntensors] some piece of it is drawn by itself */
    uint8_t *colour; /* [ntensors] of those shown: below COLOURS */
    ChartGap *gaps;  /* [ngaps] both ends shown */
    size_t ngaps;
    int64_t usable, peak, highest; /* bytes */
    int64_t before;                /* needed at most before spilling; 0: not known */
    FreePiece *holes;              /* [nholes] */
    size_t nholes;
    FreeRoom room;
    int64_t byte_step, point_step; /* between ticks */
    Lane lanes[QUADRANTS];         /* partition 0 uppermost */
    uint32_t nlanes;
    int64_t left, width; /* of the plot */
    int64_t page;        /* width of the drawing */
    Lane pressure;       /* where the curve is drawn */
    int64_t legend, peaks, axis, lines, opcodes, opcodes_height, dma, loops, height;
    uint32_t loop_rows; /* nests drawn, outermost first */
    bool upright;       /* opcodes stand upright */
    Features has;
} Chart;

/* Lays out the drawing of `item`. Everything lives in `arena`. */
Chart chart_make(const ChartRequest *request, Arena *arena);

/* x of the left edge of a point's column, of its middle, and y of a byte in a lane. */
int64_t chart_x(const Chart *chart, uint32_t point);
int64_t chart_middle(const Chart *chart, uint32_t point);
int64_t lane_y(const Lane *lane, int64_t byte);

/* Fills pieces, original, shown, colour and features: O(blocks + intervals), and O(n log n) of the
 * pieces where they are too many to be drawn one by one. Requires points, width and usable. */
void chart_pieces(Chart *chart);

/* Finds pieces that iterations share: marks those that are the same rectangle as another, and puts
 * those drawn one by one into the order in which none hides a shorter one. Requires pieces and
 * features. O(n log n + pairs that live together). */
void chart_shared(Chart *chart);

/* True if both take some byte of some quadrant. */
bool pieces_meet(const ChartPiece *a, const ChartPiece *b);

/* Fills holes and room. Requires pieces and lanes. O(columns times pieces that live there). */
void chart_holes(Chart *chart);

/* Columns in which holes are told apart, and the first point of one. */
uint32_t hole_columns(const Chart *chart);
uint32_t column_start(const Chart *chart, uint32_t column);

/* `[3]`, `[0..4]`, `[0, 2..4]`: the blocks of a piece and of those that it is drawn for. Nothing
 * for a tensor of one block. */
void chart_blocks(const Chart *chart, const ChartPiece *piece, Writer *out);

/* `128Ã64 f32`: shape and data type. */
void chart_shape(const Tensor *tensor, Writer *out);

/* Where a piece is drawn in a lane. */
ChartBox chart_box(const Chart *chart, const Lane *lane, const ChartPiece *piece);

/* Fills gaps. Requires pieces. O(copies log copies). */
void chart_gaps(Chart *chart);

/* Rows of the legend; draws it where `out` is not NULL. */
uint32_t draw_legend(const Chart *chart, Writer *out);

void draw_pressure(const Chart *chart, Writer *out);
void draw_lanes(const Chart *chart, Writer *out);  /* frames and ticks */
void draw_limits(const Chart *chart, Writer *out); /* capacity and high water, above the tensors */
void draw_holes(const Chart *chart, Writer *out);
void draw_room(const Chart *chart, Writer *out); /* the largest free rectangle */
void draw_tensors(const Chart *chart, Writer *out);
/* Makes a piece paler where no instruction names it. */
void draw_idle(const Chart *chart, const ChartPiece *piece, ChartBox box, Writer *out);
void draw_labels(const Chart *chart, Writer *out); /* names, where nothing lies over them */
void draw_gaps(const Chart *chart, Writer *out);   /* and, on the tensors, where DMAs meet them */
void draw_axis(const Chart *chart, Writer *out);
void draw_dmas(const Chart *chart, Writer *out);
void draw_peaks(const Chart *chart, Writer *out); /* who lives where most is needed */
void draw_loops(const Chart *chart, Writer *out);

/* `line 31`, `lines 31–40`, `a.py:7 – a.py:9`: where points stand, after `before`; nothing where
 * that is not known. */
void write_where(const Chart *chart, Interval points, const char *before, Writer *out);

/* The classes of fills, c0 to c11. */
enum { COLOURS = 12 };

/* Columns of the fixed-width font that fit in a length. */
uint32_t fitting_columns(int64_t length);

#endif
