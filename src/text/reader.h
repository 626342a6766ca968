/* The reader's own state: what the scanner and the grammar's actions share. Not for other layers.
 */
#ifndef TEXT_READER_H
#define TEXT_READER_H

#include "ir/build.h"
#include "support/diag.h"
#include "text/names.h"
#include "text/word.h"

/* What is known of a function that is of use only while the file has errors. */
typedef struct {
    bool broken;       /* a part of it could not be read */
    const bool *vague; /* [ntensors] undeclared, or declared with a fault */
} FuncFacts;

/* One number or pair after an attribute's name. */
typedef struct {
    int64_t first, second;
    bool pair; /* `first:second` */
    Span span;
} AttributeValue;

typedef struct Reader {
    const Source *source;
    Arena *arena;  /* the module's */
    Arena scratch; /* freed when the file is read */
    DiagQueue *diags;
    Module *module;
    size_t func_capacity;
    FuncFacts *facts; /* [module->nfuncs] in scratch */
    size_t nfacts, facts_capacity;
    StrMap func_names; /* positions in `headers` */
    Span *headers;     /* the functions' names, in scratch */
    size_t nheaders, header_capacity;
    bool seen_func;
    uint32_t counted; /* up to here the lines were counted */

    bool ended;   /* scanner: the newline that ends the last line was given */
    Span *braces; /* scanner: each '{' that has no '}' yet, in scratch */
    size_t nbraces, brace_capacity;
    Span askew; /* the first one whose '}' is indented otherwise */
    bool has_askew;
    bool told_brace; /* that a '}' is missing */
    uint32_t fault;  /* where the last lexical or syntax error begins, UINT32_MAX if none yet */
    Span lexical;    /* the last lexical error */
    bool has_lexical;
    uint64_t compared; /* names, for suggestions */

    /* The function that is being read. */
    Builder builder;
    bool has_name;
    bool has_statement; /* declarations must not follow */
    NameTable tensors;
    bool *vague; /* [ntensors] in the arena */
    size_t nvague, vague_capacity;
    int64_t sb_blocks; /* of all its sb tensors */
    StrMap indices;    /* names of loop indices: positions in `open` */
    uint32_t *open;    /* the open loop of each name, or NO_LOOP */
    size_t nopen, open_capacity;
    uint32_t nameless; /* open loops whose name could not be read */
    uint32_t depth;    /* blocks that are open */

    /* The statement or declaration that is being read. */
    Operand *operands;
    size_t noperands, operand_capacity;
    uint32_t ndst;
    Span first_token;
    bool bad_index; /* an expression in it has an error */
    Term *terms;
    size_t nterms, term_capacity;
    Compare *compares;
    size_t ncompares, compare_capacity;
    Meta *metas;
    size_t nmetas, meta_capacity;
    StrMap meta_keys; /* used where there are many */
    Tensor tensor;
    bool tensor_vague;    /* its shape could not be read */
    bool attribute_fault; /* one of its attributes could not */
    Span at_span;
    uint32_t attributes; /* bit set of those seen */
    AttributeValue *values;
    size_t nvalues, value_capacity;
    int64_t *dims; /* of the shape that is read, in scratch */
    size_t dim_capacity;

    uint32_t settings; /* bit set of the target's keys seen */
    Span setting_spans[5];
    bool known_target; /* its name is a built-in one */
    bool extra_target; /* not the first, or behind a function: read and forgotten */
    Target pending;
    Span target_span;
} Reader;

/* For errors about the meaning of a span: none where a lexical error in it was told already. */
bool worth_telling(const Reader *reader, Span span);
#define COMPLAIN(reader, span, ...)                                                                \
    do {                                                                                           \
        if (worth_telling(reader, span)) diag_error((reader)->diags, (span), __VA_ARGS__);         \
    } while (0)

/* scan.c: for the scanner. `text` is the token's, at `span`. */
void check_encoding(Reader *reader);
int64_t scan_integer(Reader *reader, Str text, Span span);
Str scan_quoted(Reader *reader, Str text, Span span);
void scan_stray(Reader *reader, Str text, Span span);
void lexical_error(Reader *reader, Span span, const char *message);

/* Whether the span goes on where a lexical error ended; takes it in. */
bool continues_fault(const Reader *reader, Span span);
void extend_fault(Reader *reader, Span span);

/* hint.c: tells of a ';'. True if the rest of its line was meant as a comment, as it begins it. */
bool scan_semicolon(Reader *reader, Span span);
/* Tells of a '%' without a name. */
void scan_percent(Reader *reader, Span span);

/* hint.c: keeps account of a '{', takes the last one off, and tells of those left. */
void open_brace(Reader *reader, Span span);
void close_brace(Reader *reader, Span span);
void note_braces(Reader *reader);

/* Words that other languages have for ours. */
typedef enum { WORD_DTYPE, WORD_SPACE, WORD_ATTRIBUTE, WORD_LINE } WordKind;

/* "; did you mean 'bf16'?" or nothing, for an unknown word where one of `known` is needed. */
Str word_hint(Reader *reader, WordKind kind, Str name, const Str *known, uint32_t count);

/* What may have been meant at a token where one of `expected` is needed, or nothing. */
Str syntax_hint(Reader *reader, Span span, const char *const *expected, int count);

/* message.c: whether a token of that name is among those expected. */
bool is_expected(const char *const *expected, int count, const char *token);

/* message.c: a syntax error. `expected` are the names of the tokens that would do. */
void report_syntax(Reader *reader, Span span, const char *found, const char *const *expected,
                   int count);

/* Whether a suggestion is still worth the time that `count` comparisons take. */
bool may_suggest(const Reader *reader, uint32_t count);

/* "; did you mean 'NEAREST'?" or nothing; with a sigil ("%" or "@") in place of the quotes. */
Str did_you_mean(Reader *reader, const char *sigil, Str name, const Str *known, uint32_t count);

/* read_target.c */
void begin_target(Reader *reader, Str name, Span span, Span keyword);
void set_target(Reader *reader, Str key, Span key_span, int64_t value, Span value_span);
void end_target(Reader *reader);

/* read_tensor.c */
void begin_tensor(Reader *reader, Str name, Span name_span, Str type, Span type_span);
void begin_vague_tensor(Reader *reader, Str name, Span name_span);
void add_value(Reader *reader, int64_t first, Span span);
void add_pair(Reader *reader, int64_t first, int64_t second, Span span);
void add_attribute(Reader *reader, Str name, Span name_span);
void end_tensor(Reader *reader);

/* read_func.c */
void begin_func(Reader *reader, Str name, Span name_span, bool has_name);
void end_func(Reader *reader);
/* Each returns false where blocks are nested too deep to go on. */
bool begin_loop(Reader *reader, Str name, Span name_span, int64_t low, int64_t high, Span range);
bool begin_nameless_loop(Reader *reader, Span span);
bool begin_block(Reader *reader, Span span); /* of a line that could not be read */
void end_loop(Reader *reader);
void end_nameless_loop(Reader *reader);
void end_block(Reader *reader);
void add_operand(Reader *reader, Str name, Span span, Span name_span, const Blocks *blocks,
                 const Region *region);
const Blocks *make_blocks(Reader *reader, BlocksKind kind, Affine low, Affine high, Span span);
const Region *make_region(Reader *reader, Region region, Span partitions, Span bytes);
Term index_term(Reader *reader, Str name, Span span, int64_t coefficient);
void add_term(Reader *reader, Term term, bool negative);
Affine end_affine(Reader *reader, Span span);
Affine end_remainder(Reader *reader, Affine affine, int64_t modulus, Span span); /* of modulus */
void add_compare(Reader *reader, Affine left, Comparison comparison, Affine right);
void end_destinations(Reader *reader, bool accumulate, Span assign);
void add_inst(Reader *reader, Str op, bool accumulate, Span span);
void add_meta(Reader *reader, Meta meta, Span span);
MetaList take_metas(Reader *reader);

/* Adds to the function under construction. */
uint32_t declare_tensor(Reader *reader, Tensor tensor, bool vague);

/* The generated scanner's entry points. */
void *scan_open(Reader *reader, char *text, uint32_t length);
void scan_close(void *scanner);

#endif
