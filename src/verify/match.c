#include "verify/match.h"

#include <string.h>

#include "ir/dma.h"

/* Formats a Str for "%.*s". */
#define TEXT(str) (int)(str).length, (str).text

const char *shown_name(Arena *arena, const Tensor *tensor) {
    bool plain = true;
    for (uint32_t i = 0; i < tensor->name.length; i++) {
        char c = tensor->name.text[i];
        plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 (c != '\0' && strchr("_.$-", c) != NULL);
    }
    return str_format(arena, plain ? "%%%.*s" : "%%\"%.*s\"", TEXT(tensor->name)).text;
}

Span operand_span(const Inst *inst, const Operand *operand) {
    return operand->span.begin < operand->span.end ? operand->span : inst->span;
}

/* --- Metadata --- */

static bool same_meta(const Meta *a, const Meta *b) {
    return str_equal(a->key, b->key) && a->kind == b->kind && a->number == b->number &&
           str_equal(a->text, b->text);
}

/* The next item from `i` on whose key is neither of two (NULL: none such). */
static uint32_t skip_keys(MetaList list, uint32_t i, const char *key, const char *other) {
    while (i < list.count &&
           ((key && str_is(list.items[i].key, key)) || (other && str_is(list.items[i].key, other))))
        i++;
    return i;
}

/* The same items in the same order, but for two keys. */
static bool same_metas_but(MetaList a, MetaList b, const char *key, const char *other) {
    if (a.items == b.items && a.count == b.count) return true;
    uint32_t i = 0, j = 0;
    for (;;) {
        i = skip_keys(a, i, key, other);
        j = skip_keys(b, j, key, other);
        if (i == a.count || j == b.count) return i == a.count && j == b.count;
        if (!same_meta(&a.items[i++], &b.items[j++])) return false;
    }
}

/* --- Tensors --- */

typedef struct {
    Match *match;
    Arena *arena;
    DiagQueue *diags;
    StrMap names; /* of the original's tensors; filled when first needed */
    bool has_names;
} Matcher;

static uint32_t find_original(Matcher *m, Str name) {
    const Func *original = m->match->original;
    if (!m->has_names) {
        strmap_init(&m->names, m->arena);
        for (uint32_t i = 0; i < original->ntensors; i++)
            strmap_add(&m->names, original->tensors[i].name, i);
        m->has_names = true;
    }
    return strmap_get(&m->names, name);
}

static bool same_block_shape(const Tensor *a, const Tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* What is wrong with a tensor of the original's name, or NULL. */
static const char *same_fault(const Tensor *was, const Tensor *is) {
    if (was->space != is->space) return "lies in another memory";
    if (was->blocks != is->blocks || !same_block_shape(was, is)) return "has another shape";
    if (was->align != is->align) return "has another `align`";
    if (was->base != is->base) return "has another `base`";
    if (was->input != is->input) return "differs in `input`";
    if (was->output != is->output) return "differs in `output`";
    if (was->pin != is->pin) return "differs in `pin`";
    if (was->space == SPACE_DRAM && was->offset != is->offset)
        return "lies elsewhere in the spill area";
    if (!same_metas_but(was->meta, is->meta, NULL, NULL)) return "has other metadata";
    return NULL;
}

/* True if a block of a copy may hold part of a block: of the same type, smaller one way or both. */
static bool holds_part(const Tensor *was, const Tensor *is) {
    return is->space == SPACE_SB && was->dtype == is->dtype && is->partitions <= was->partitions &&
           is->bytes <= was->bytes && (is->partitions < was->partitions || is->bytes < was->bytes);
}

static const char *stand_in_fault(const Tensor *was, const Tensor *is) {
    if (was->space != SPACE_SB) return "stands for a tensor that is not in the State Buffer";
    if (was->fixed) return "stands for a tensor that is fixed by its `at`";
    if (was->pin) return "stands for a tensor that is pinned";
    if (was->output) return "stands for an output";
    if (is->input || is->output) return "is added as an input or output";
    bool part = holds_part(was, is);
    if (!part && !same_block_shape(was, is)) return "has another shape than what it stands for";
    if (is->space == SPACE_PSUM) return "stands for a tensor of another memory";
    if (is->blocks > was->blocks) return "has more blocks than what it stands for";
    if (is->space == SPACE_DRAM) return NULL;
    if (is->align != was->align) return "has another `align` than what it stands for";
    if (!part && is->base != was->base) return "has another `base` than what it stands for";
    return NULL;
}

static bool match_added(Matcher *m, uint32_t number) {
    const Tensor *is = &m->match->result->tensors[number];
    const Meta *of = meta_find(is->meta, "of");
    uint32_t original = of && of->kind == META_TEXT ? find_original(m, of->text) : UINT32_MAX;
    if (original == UINT32_MAX) {
        diag_error(m->diags, is->span, "%s is not in the original%s", shown_name(m->arena, is),
                   of ? ", nor is what its `!of` names" : " and has no `!of`");
        return false;
    }
    const Tensor *was = &m->match->original->tensors[original];
    RoleKind kind = is->space == SPACE_DRAM ? ROLE_HOME : ROLE_COPY;
    m->match->roles[number] = (MatchRole){kind, original};
    const char *fault = stand_in_fault(was, is);
    if (!fault) return true;
    diag_error(m->diags, is->span, "%s, `!of` %s, %s", shown_name(m->arena, is),
               shown_name(m->arena, was), fault);
    return false;
}

static bool match_same(Matcher *m, uint32_t number, uint32_t original) {
    const Tensor *was = &m->match->original->tensors[original];
    const Tensor *is = &m->match->result->tensors[number];
    m->match->roles[number] = (MatchRole){ROLE_SAME, original};
    m->match->twin[original] = number;
    const char *fault = was == is ? NULL : same_fault(was, is);
    if (!fault) return true;
    diag_error(m->diags, is->span, "%s %s than in the original", shown_name(m->arena, is), fault);
    return false;
}

/* A tensor may be gone where its home and copies stand for it, or where nothing used it. */
static bool check_missing(Matcher *m) {
    bool ok = true;
    const Func *original = m->match->original;
    for (uint32_t i = 0; i < original->ntensors; i++) {
        const Tensor *was = &original->tensors[i];
        if (m->match->twin[i] != UINT32_MAX) continue;
        if (was->space == SPACE_SB && !was->fixed && !was->pin && !was->input && !was->output)
            continue;
        diag_error(m->diags, m->match->result->span, "%s of the original is missing",
                   shown_name(m->arena, was));
        ok = false;
    }
    return ok;
}

static bool match_tensors(Matcher *m) {
    const Func *original = m->match->original, *result = m->match->result;
    bool ok = true;
    uint32_t next = 0;
    for (uint32_t i = 0; i < result->ntensors; i++) {
        uint32_t found = next;
        /* Declarations keep their order: mostly the next one is right. */
        if (next == original->ntensors ||
            !str_equal(result->tensors[i].name, original->tensors[next].name))
            found = find_original(m, result->tensors[i].name);
        if (found == UINT32_MAX) {
            ok &= match_added(m, i);
        } else {
            ok &= match_same(m, i, found);
            next = found + 1;
        }
    }
    return check_missing(m) && ok;
}

/* --- Instructions --- */

static Region region_of(const Func *func, const Operand *operand) {
    const Tensor *tensor = &func->tensors[operand->tensor];
    return operand->region ? *operand->region : (Region){0, tensor->partitions, 0, tensor->bytes};
}

static bool same_region(Region a, Region b) {
    return a.p0 == b.p0 && a.p1 == b.p1 && a.b0 == b.b0 && a.b1 == b.b1;
}

static bool same_size(Region a, Region b) {
    return a.p1 - a.p0 == b.p1 - b.p0 && a.b1 - a.b0 == b.b1 - b.b0;
}

/* True if rows that lie `down` lower in a copy of part of a tensor are in partitions that they
 * could have in the tensor itself. */
static bool keeps_partitions(const Tensor *was, const Tensor *is, int64_t down) {
    if (is->partitions == was->partitions) return down == 0 && is->base == was->base;
    int64_t start = is->base - down;
    return is->base >= 0 && start >= 0 && start_is_legal((int32_t)start, was->partitions) &&
           (was->base < 0 || was->base == start);
}

/* How many blocks an operand names, 0 where that depends on the iteration. */
static int64_t blocks_named(const Func *func, const Operand *operand, Arena *scratch) {
    const Blocks *blocks = operand->blocks;
    if (!blocks || blocks->kind == BLOCKS_ALL) return func->tensors[operand->tensor].blocks;
    if (blocks->kind == BLOCKS_ONE) return 1;
    Affine length = affine_difference(scratch, blocks->high, blocks->low);
    bool known = length.count == 1 && length.terms->loop == NO_LOOP;
    return known && length.terms->coefficient > 0 ? length.terms->coefficient : 0;
}

/* False where both are known and differ. */
static bool may_name_as_many(const Match *match, const Operand *was, const Operand *is) {
    int64_t wanted = blocks_named(match->original, was, match->arena);
    int64_t had = blocks_named(match->result, is, match->arena);
    return wanted == 0 || had == 0 || wanted == had;
}

/* The same for an operand that is a copy. Which blocks, and which part of a block, are right only
 * the run can tell. */
static const char *copy_fault(const Match *match, const Operand *was, const Operand *is) {
    const Tensor *of = &match->original->tensors[was->tensor];
    const Tensor *copy = &match->result->tensors[is->tensor];
    Region wanted = region_of(match->original, was), had = region_of(match->result, is);
    if (!holds_part(of, copy)) return same_region(wanted, had) ? NULL : "names another region";
    if (!same_size(wanted, had)) return "names another region";
    return keeps_partitions(of, copy, wanted.p0 - had.p0) ? NULL : "lies in other partitions";
}

/* What is wrong with an operand, or NULL. */
static const char *operand_fault(const Match *match, const Operand *was, const Operand *is) {
    MatchRole role = match->roles[is->tensor];
    if (role.original != was->tensor || role.kind == ROLE_HOME) return "is another tensor";
    if (role.kind == ROLE_SAME && !blocks_equal(was->blocks, is->blocks))
        return "names other blocks";
    if (role.kind == ROLE_COPY) return copy_fault(match, was, is);
    if (!was->region && !is->region) return NULL;
    if (!same_region(region_of(match->original, was), region_of(match->result, is)))
        return "names another region";
    return NULL;
}

typedef struct {
    const char *text;        /* NULL: none */
    const Operand *was, *is; /* where it is about an operand */
} Fault;

static const char OTHER_OPCODE[] = "another opcode", OTHER_CONDITION[] = "another condition";

/* True if the comparison may be appended to the condition of a load. */
static bool may_narrow(const Compare *compare) {
    Comparison c = compare->comparison;
    bool constant = compare->right.count == 1 && compare->right.terms[0].loop == NO_LOOP &&
                    !compare->right.modulus;
    return constant && (c == CMP_GE || c == CMP_LT || c == CMP_EQ || c == CMP_NE);
}

/* True if `is` is `was` with more comparisons behind it. */
static bool narrows(const Condition *was, const Condition *is) {
    uint32_t had = was ? was->count : 0;
    if (!is || is->count <= had) return false;
    Condition common = {is->compares, had};
    if (was && !condition_equal(was, &common)) return false;
    for (uint32_t i = had; i < is->count; i++)
        if (!may_narrow(&is->compares[i])) return false;
    return true;
}

static Fault inst_fault(const Match *match, const Inst *was, const Inst *is) {
    if (was == is) return (Fault){0};
    if (!str_equal(was->op, is->op)) return (Fault){OTHER_OPCODE, NULL, NULL};
    if (was->accumulate != is->accumulate)
        return (Fault){"another operator (`=`, `+=`)", NULL, NULL};
    if (was->ndst != is->ndst || was->nsrc != is->nsrc)
        return (Fault){"another number of operands", NULL, NULL};
    for (uint32_t i = 0; i < was->ndst + was->nsrc; i++) {
        const char *text = operand_fault(match, &was->operands[i], &is->operands[i]);
        /* Which of several loads stays is seen from that; elsewhere the run tells more. */
        if (is->kind == OP_LOAD && !may_name_as_many(match, &was->operands[i], &is->operands[i]))
            text = "names another number of blocks";
        if (text) return (Fault){text, &was->operands[i], &is->operands[i]};
    }
    if (!condition_equal(was->condition, is->condition) &&
        !(is->kind == OP_LOAD && narrows(was->condition, is->condition)))
        return (Fault){OTHER_CONDITION, NULL, NULL};
    const char *free_key = was->kind == OP_COPY ? "elided" : NULL;
    if (!same_metas_but(was->meta, is->meta, free_key, NULL))
        return (Fault){"other metadata", NULL, NULL};
    return (Fault){0};
}

/* What keeps a tensor of the original from losing a block, or NULL. */
static const char *stays_whole(const Tensor *was) {
    if (was->fixed) return "is inserted and loads into what is fixed by its `at`";
    if (was->pin) return "is inserted and loads into what is pinned";
    if (was->output) return "is inserted and loads into an output";
    return NULL;
}

/* What keeps an instruction from being an inserted store or reload, or NULL. */
static const char *inserted_fault(const Match *match, const Inst *is) {
    bool save = dma_is_store(is);
    if (!dma_is_inserted(is) || is->accumulate || is->ndst != 1 || is->nsrc != 1)
        return "is not in the original";
    MatchRole dst = match->roles[inst_dst(is)->tensor], src = match->roles[inst_src(is)->tensor];
    const Tensor *from = &match->result->tensors[inst_src(is)->tensor];
    if (save) {
        if (dst.kind != ROLE_HOME) return "is inserted and stores to what is no home";
        if (src.kind == ROLE_HOME || src.original != dst.original)
            return "stores another tensor than its home is for";
        return NULL;
    }
    if (src.kind != ROLE_HOME && (src.kind == ROLE_COPY || from->space != SPACE_DRAM))
        return "reloads from what is not in DRAM";
    return dst.kind == ROLE_COPY ? NULL : stays_whole(&match->original->tensors[dst.original]);
}

static void push_step(Matcher *m, uint32_t original, uint32_t result) {
    Match *match = m->match;
    PUSH(m->arena, match->steps, match->nsteps, match->capacity, ((Step){original, result}));
}

/* Both functions from some event on. */
typedef struct {
    Walk original, result; /* each at its current event */
    bool more_original, more_result;
} Pair;

static bool at_inst(bool more, const Walk *walk) {
    return more && walk->event == WALK_INST;
}

static bool pair_matches(const Match *match, const Pair *pair) {
    return at_inst(pair->more_original, &pair->original) &&
           at_inst(pair->more_result, &pair->result) &&
           !inst_fault(match, &match->original->insts[pair->original.inst],
                       &match->result->insts[pair->result.inst])
                .text;
}

static bool is_inserted(const Match *match, const Pair *pair) {
    return at_inst(pair->more_result, &pair->result) &&
           !inserted_fault(match, &match->result->insts[pair->result.inst]);
}

/* Neither side can go on: says which of them is most likely wrong. */
static void report_mismatch(Matcher *m, const Pair *pair) {
    const Match *match = m->match;
    const Inst *was = at_inst(pair->more_original, &pair->original)
                          ? &match->original->insts[pair->original.inst]
                          : NULL;
    const Inst *is =
        at_inst(pair->more_result, &pair->result) ? &match->result->insts[pair->result.inst] : NULL;
    Span place = is ? is->span : match->result->span;
    if (is && !was) {
        diag_error(m->diags, place, "`%.*s` %s", TEXT(is->op), inserted_fault(match, is));
        return;
    }
    Pair later = *pair;
    later.more_original = walk_next(&later.original);
    Pair earlier = *pair;
    do
        earlier.more_result = walk_next(&earlier.result);
    while (is_inserted(match, &earlier));
    bool missing = was && pair_matches(match, &later), added = is && pair_matches(match, &earlier);
    if (was && (!is || (missing && !added))) {
        diag_error(m->diags, place, "`%.*s` of the original is missing %s", TEXT(was->op),
                   is ? "before this" : "at the end of its loop or of the function");
        return;
    }
    if (!was) {
        if (pair->more_result && pair->result.event == WALK_OPEN)
            place = match->result->loops[pair->result.loop].span;
        diag_error(m->diags, place, "the loops are not those of the original");
        return;
    }
    const char *why = inserted_fault(match, is);
    if (added || meta_find(is->meta, "spill") || meta_find(is->meta, "reload")) {
        diag_error(m->diags, place, "`%.*s` %s", TEXT(is->op),
                   why ? why : "stands where another instruction should");
        return;
    }
    Fault fault = inst_fault(match, was, is);
    if (fault.is)
        diag_error(m->diags, operand_span(is, fault.is),
                   "`%.*s` has %s where the original has %s: it %s", TEXT(is->op),
                   shown_name(m->arena, &match->result->tensors[fault.is->tensor]),
                   shown_name(m->arena, &match->original->tensors[fault.was->tensor]), fault.text);
    else if (fault.text == OTHER_OPCODE)
        diag_error(m->diags, place, "`%.*s` stands where the original has `%.*s`", TEXT(is->op),
                   TEXT(was->op));
    else
        diag_error(m->diags, place, "`%.*s` has %s than in the original", TEXT(is->op), fault.text);
}

static bool same_loop(const Match *match, uint32_t loop) {
    const Loop *a = &match->original->loops[loop], *b = &match->result->loops[loop];
    return a->low == b->low && a->high == b->high && str_equal(a->name, b->name);
}

static bool both_at(const Pair *pair, WalkEvent event) {
    return pair->more_original && pair->more_result && pair->original.event == event &&
           pair->result.event == event;
}

/* One step: what matches goes together, else an inserted instruction of the result goes alone, else
 * a load of the original (it was dropped). False where nothing can. */
static bool match_step(Matcher *m, Pair *pair) {
    Match *match = m->match;
    bool brackets = both_at(pair, WALK_OPEN) || both_at(pair, WALK_CLOSE);
    if (brackets && pair->original.event == WALK_OPEN && !same_loop(match, pair->result.loop))
        return false;
    if (brackets || pair_matches(match, pair)) {
        if (brackets)
            push_step(m, pair->original.event == WALK_OPEN ? STEP_OPEN : STEP_CLOSE,
                      pair->result.loop);
        else
            push_step(m, pair->original.inst, pair->result.inst);
        pair->more_original = walk_next(&pair->original);
        pair->more_result = walk_next(&pair->result);
        return true;
    }
    if (is_inserted(match, pair)) {
        push_step(m, STEP_NONE, pair->result.inst);
        pair->more_result = walk_next(&pair->result);
        return true;
    }
    if (at_inst(pair->more_original, &pair->original) &&
        match->original->insts[pair->original.inst].kind == OP_LOAD) {
        push_step(m, pair->original.inst, STEP_NONE);
        pair->more_original = walk_next(&pair->original);
        return true;
    }
    return false;
}

static bool match_insts(Matcher *m) {
    Pair pair = {.original = walk_begin(m->match->original),
                 .result = walk_begin(m->match->result)};
    pair.more_original = walk_next(&pair.original);
    pair.more_result = walk_next(&pair.result);
    while (pair.more_original || pair.more_result) {
        if (match_step(m, &pair)) continue;
        report_mismatch(m, &pair);
        return false;
    }
    return true;
}

static bool match_header(Matcher *m) {
    const Func *original = m->match->original, *result = m->match->result;
    if (!str_equal(original->name, result->name)) {
        diag_error(m->diags, result->span, "the original of @%.*s is @%.*s", TEXT(result->name),
                   TEXT(original->name));
        return false;
    }
    if (same_metas_but(original->meta, result->meta, "ready_for_codegen", "no_spill")) return true;
    diag_error(m->diags, result->span, "@%.*s has other metadata than the original",
               TEXT(result->name));
    return false;
}

bool match_functions(Match *match, const Func *original, const Func *result, Arena *arena,
                     DiagQueue *diags) {
    *match = (Match){.original = original, .result = result, .arena = arena};
    match->roles = RAW_ARRAY(arena, MatchRole, result->ntensors);
    match->twin = RAW_ARRAY(arena, uint32_t, original->ntensors);
    memset(match->twin, 0xFF, original->ntensors * sizeof *match->twin);
    match->capacity = (size_t)original->ninsts + result->ninsts / 4 + 8;
    match->steps = RAW_ARRAY(arena, Step, match->capacity);
    Matcher matcher = {.match = match, .arena = arena, .diags = diags};
    bool header = match_header(&matcher);
    return match_tensors(&matcher) && match_insts(&matcher) && header;
}
