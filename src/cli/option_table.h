/* The table of options, for what is made from it. */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include <stddef.h>

#include "cli/options.h"

typedef enum {
    STORE_TEXT,           /* the argument, as it is */
    STORE_TEXTS,          /* the same, as often as it is given: a TextList */
    STORE_OPTIONAL_TEXT,  /* the argument, or "" */
    STORE_OPTIONAL_TEXTS, /* the same, or NULL, as often as it is given: a TextList */
    STORE_CHOICE,         /* the position of the argument in `choices`; an enum */
    STORE_INT,            /* a number from `low` to `high` */
    STORE_BYTES,          /* the same, with K or M after it or not; an int64_t */
    STORE_UINT64,
    STORE_SECONDS, /* a decimal number; a double */
    STORE_VALUE,   /* no argument: the number `low`; an enum */
    STORE_TRUE,    /* no argument; a bool */
    STORE_FALSE,   /* no argument; a bool */
    STORE_MODE     /* no argument: the mode `low`, once */
} StoreKind;

enum {
    IN_ALLOCATE = 1 << MODE_ALLOCATE,
    IN_CHECK = 1 << MODE_CHECK,
    IN_COMPARE = 1 << MODE_COMPARE,
    IN_ALL = IN_ALLOCATE | IN_CHECK | IN_COMPARE
};

typedef struct {
    const char *name;
    char letter; /* 0: none */
    StoreKind kind;
    unsigned modes;       /* where it may be used */
    size_t field;         /* offset in CommandLine */
    const char *argument; /* how help names it; NULL if it takes none */
    const char *fallback; /* the default as help shows it; NULL: not shown */
    const char *help;     /* NULL: hidden */
    int64_t low, high;    /* numbers */
    const char *choices;  /* STORE_CHOICE: names separated by blanks */
} OptionRow;

/* True if the option may stand without its argument. */
static inline bool row_is_optional(const OptionRow *row) {
    return row->kind == STORE_OPTIONAL_TEXT || row->kind == STORE_OPTIONAL_TEXTS;
}

/* True if each time that the option is given counts, not the last alone. */
static inline bool row_is_repeated(const OptionRow *row) {
    return row->kind == STORE_TEXTS || row->kind == STORE_OPTIONAL_TEXTS;
}

extern const OptionRow OPTION_ROWS[];
extern const int OPTION_COUNT;

#endif
