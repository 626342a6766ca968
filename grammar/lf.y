/* The grammar of the `.lf` format. Actions only call text/reader.h; what they build lives in arenas,
 * so nothing is freed when the parser drops a symbol. All lists are left recursive. After an error
 * the parser goes on behind the end of the line, or in the block that the line opens.
 *
 * Without default reductions a wrong token is seen before anything is done with what stands before
 * it, and in a canonical table a state's tokens are those that would do: the messages list them. */
%code requires {
#include "text/reader.h"
}

%define api.pure full
%define api.prefix {lf_}
%define api.location.type {Span}
%define parse.error custom
%define lr.type canonical-lr
%define lr.default-reduction accepting
%locations
%parse-param {Reader *reader} {void *scanner}
%lex-param {void *scanner}
%initial-action { @$ = (Span){0, 0}; }

%union {
    Str str;
    int64_t number;
    Term term;
    Affine affine;
    Comparison comparison;
    const Blocks *blocks;
    const Region *region;
    bool flag;
}

%code {
#include <stdlib.h>

#define YYLLOC_DEFAULT(current, rhs, count)                                                        \
    do {                                                                                           \
        (current).begin = (count) ? YYRHSLOC(rhs, 1).begin : YYRHSLOC(rhs, 0).end;                 \
        (current).end = YYRHSLOC(rhs, count).end;                                                  \
    } while (0)
/* Nests end at DEEPEST_NEST, so the stack stays far below this. */
#define YYMAXDEPTH (DEEPEST_NEST * 16)
#define YYMALLOC heap_alloc
#define YYFREE free

int lf_lex(LF_STYPE *value, Span *span, void *scanner);
static void lf_error(const Span *span, Reader *reader, void *scanner, const char *message);
}

%token END 0 "end of file"
%token NEWLINE "end of line"
%token <str> TENSOR_NAME "a tensor name"
%token <str> FUNC_NAME "a function name"
%token <str> NAME "a name"
%token <str> STRING "a string"
%token <number> INTEGER "a number"
%token <str> META "metadata"
%token <str> TYPE "': SPACE<SHAPE>'"
%token <str> FUNC "'func'" TARGET "'target'" TENSOR "'tensor'" LOOP "'loop'" IF "'if'"
%token ASSIGN "'='" ADD_ASSIGN "'+='" COMMA "','" COLON "':'" DOTDOT "'..'"
%token PLUS "'+'" MINUS "'-'" STAR "'*'"
%token <str> MOD "'mod'"
%token AND "'&&'"
%token EQ "'=='" NE "'!='" LT "'<'" LE "'<='" GT "'>'" GE "'>='"
%token LBRACE "'{'" RBRACE "'}'" LBRACKET "'['" RBRACKET "']'" LPAREN "'('" RPAREN "')'"

%type <str> word opener
%type <term> term
%type <affine> affine element
%type <comparison> comparison
%type <blocks> index
%type <region> region
%type <flag> assignment

%%

file: lines ;

lines:
    %empty
  | lines NEWLINE
  | lines target NEWLINE
  | lines func NEWLINE
  | lines error NEWLINE                     { yyerrok; }
  ;

target:
    target_name                             { end_target(reader); }
  | target_name LBRACE settings RBRACE      { end_target(reader); }
  | target_name LBRACE settings error RBRACE { yyerrok; end_target(reader); }
  ;

target_name: TARGET word                    { begin_target(reader, $2, @2, @1); } ;

settings:
    %empty
  | settings NEWLINE
  | settings word ASSIGN INTEGER            { set_target(reader, $2, @2, $4, @4); }
  | settings error NEWLINE                  { yyerrok; }
  ;

func:
    func_head body RBRACE                   { end_func(reader); }
  | func_head body RBRACE error             { yyerrok; end_func(reader); }
  ;

func_head:
    FUNC FUNC_NAME metas LBRACE             { begin_func(reader, $2, @2, true); }
  | FUNC error LBRACE                       { yyerrok; begin_func(reader, STR(""), @1, false); }
  | error LBRACE                            { yyerrok; begin_func(reader, STR(""), @1, false); }
  ;

body:
    item
  | body NEWLINE item
  ;

item:
    %empty
  | tensor                                  { end_tensor(reader); }
  | statement
  | loop_head body RBRACE                   { end_loop(reader); }
  | loop_head body RBRACE error             { yyerrok; end_loop(reader); }
  | nameless_head body RBRACE               { end_nameless_loop(reader); }
  | unknown_head body RBRACE                { end_block(reader); }
  | error                                   { yyerrok; }
  | TENSOR TENSOR_NAME error                { yyerrok; begin_vague_tensor(reader, $2, @2);
                                              end_tensor(reader); }
  | tensor_head error                       { yyerrok; end_tensor(reader); }
  | LOOP error
  ;

tensor: tensor_head attributes metas ;

tensor_head: TENSOR TENSOR_NAME TYPE        { begin_tensor(reader, $2, @2, $3, @3); } ;

attributes:
    %empty
  | attributes word                         { add_attribute(reader, $2, @2); }
  | attributes word values                  { add_attribute(reader, $2, @2); }
  ;

values:
    value
  | values COMMA value
  ;

value:
    INTEGER                                 { add_value(reader, $1, @$); }
  | INTEGER COLON INTEGER                   { add_pair(reader, $1, $3, @$); }
  ;

loop_head:
    LOOP word ASSIGN INTEGER DOTDOT INTEGER LBRACE
        {
            Span range = {@4.begin, @6.end};
            if (!begin_loop(reader, $2, @2, $4, $6, range)) YYABORT;
        }
  | LOOP word error LBRACE
        {
            yyerrok;
            if (!begin_loop(reader, $2, @2, 0, 1, @3)) YYABORT;
        }
  ;

/* Lines that could not be read but open a block all the same. */
nameless_head: LOOP error LBRACE            { yyerrok; if (!begin_nameless_loop(reader, @1)) YYABORT; } ;
unknown_head: error LBRACE                  { yyerrok; if (!begin_block(reader, @1)) YYABORT; } ;

statement:
    opener sources condition metas          { add_inst(reader, $1, false, @1); }
  | assignment word sources condition metas { add_inst(reader, $2, $1, @1); }
  ;

assignment:
    operands ASSIGN                         { $$ = false; end_destinations(reader, $$, @2); }
  | operands ADD_ASSIGN                     { $$ = true; end_destinations(reader, $$, @2); }
  ;

sources:
    %empty
  | operands
  ;

operands:
    operand
  | operands COMMA operand
  ;

operand:
    TENSOR_NAME                             { add_operand(reader, $1, @$, @1, NULL, NULL); }
  | TENSOR_NAME index                       { add_operand(reader, $1, @$, @1, $2, NULL); }
  | TENSOR_NAME region                      { add_operand(reader, $1, @$, @1, NULL, $2); }
  | TENSOR_NAME index region                { add_operand(reader, $1, @$, @1, $2, $3); }
  ;

index:
    LBRACKET element RBRACKET
        {
            $$ = make_blocks(reader, BLOCKS_ONE, $2, $2, @2);
        }
  | LBRACKET affine DOTDOT affine RBRACKET
        {
            Span range = {@2.begin, @4.end};
            $$ = make_blocks(reader, BLOCKS_RANGE, $2, $4, range);
        }
  ;

region:
    LPAREN INTEGER DOTDOT INTEGER COMMA INTEGER DOTDOT INTEGER RPAREN
        {
            Span partitions = {@2.begin, @4.end}, bytes = {@6.begin, @8.end};
            $$ = make_region(reader, (Region){$2, $4, $6, $8}, partitions, bytes);
        }
  ;

condition:
    %empty
  | IF compares
  ;

compares:
    compare
  | compares AND compare
  ;

compare: element comparison element         { add_compare(reader, $1, $2, $3); } ;

comparison:
    EQ                                      { $$ = CMP_EQ; }
  | NE                                      { $$ = CMP_NE; }
  | LT                                      { $$ = CMP_LT; }
  | LE                                      { $$ = CMP_LE; }
  | GT                                      { $$ = CMP_GT; }
  | GE                                      { $$ = CMP_GE; }
  ;

element:
    affine
  | affine MOD INTEGER                      { $$ = end_remainder(reader, $1, $3, @3); }
  ;

affine: sum                                 { $$ = end_affine(reader, @$); } ;

sum:
    term                                    { add_term(reader, $1, false); }
  | MINUS term                              { add_term(reader, $2, true); }
  | sum PLUS term                           { add_term(reader, $3, false); }
  | sum MINUS term                          { add_term(reader, $3, true); }
  ;

term:
    INTEGER                                 { $$ = (Term){$1, NO_LOOP}; }
  | word                                    { $$ = index_term(reader, $1, @1, 1); }
  | INTEGER STAR word                       { $$ = index_term(reader, $3, @3, $1); }
  | word STAR INTEGER                       { $$ = index_term(reader, $1, @1, $3); }
  ;

metas:
    %empty
  | metas META                              { add_meta(reader, (Meta){$2, META_FLAG, 0, {0}}, @2); }
  | metas META ASSIGN word
        { add_meta(reader, (Meta){$2, META_TEXT, 0, $4}, @2); }
  | metas META ASSIGN STRING
        { add_meta(reader, (Meta){$2, META_TEXT, 0, $4}, @2); }
  | metas META ASSIGN INTEGER
        { add_meta(reader, (Meta){$2, META_NUMBER, $4, {0}}, @2); }
  ;

word: NAME | FUNC | TARGET | TENSOR | LOOP | IF | MOD ;

/* The opcode that begins a statement. */
opener: NAME | FUNC | TARGET | IF | MOD ;

%%

static void lf_error(const Span *span, Reader *reader, void *scanner, const char *message) {
    (void)scanner;
    report_syntax(reader, *span, message, NULL, 0);
}

/* Where any name will do the keywords among them are not worth naming; at a statement's start
 * `tensor` and `loop` are more than names. */
static bool worth_naming(yysymbol_kind_t kind, bool any_word, bool at_start) {
    switch (kind) {
    case YYSYMBOL_FUNC:
    case YYSYMBOL_TARGET:
    case YYSYMBOL_IF:
    case YYSYMBOL_MOD:
        return !any_word;
    case YYSYMBOL_TENSOR:
    case YYSYMBOL_LOOP:
        return !any_word || at_start;
    default:
        return true;
    }
}

static int yyreport_syntax_error(const yypcontext_t *context, Reader *reader, void *scanner) {
    (void)scanner;
    yysymbol_kind_t kinds[YYNTOKENS];
    const char *names[YYNTOKENS];
    bool any_word = false, at_start = false;
    int all = yypcontext_expected_tokens(context, kinds, YYNTOKENS), count = 0;
    for (int i = 0; i < all; i++) {
        any_word |= kinds[i] == YYSYMBOL_NAME;
        at_start |= kinds[i] == YYSYMBOL_TENSOR_NAME;
    }
    for (int i = 0; i < all; i++)
        if (worth_naming(kinds[i], any_word, at_start)) names[count++] = yysymbol_name(kinds[i]);
    report_syntax(reader, *yypcontext_location(context), yysymbol_name(yypcontext_token(context)),
                  names, count);
    return 0;
}
