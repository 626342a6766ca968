#include "verify/place.h"

#include "ir/geometry.h"
#include "support/checked.h"
#include "support/sort.h"

enum { HOME_ALIGN = 64 };

typedef struct {
    const Match *match;
    const Target *target;
    Arena *arena;
    DiagQueue *diags;
} Checker;

/* What is wrong with the place of a block, or NULL. */
static const char *place_fault(const Checker *c, const Tensor *tensor, Place place, bool fixed) {
    int64_t end;
    if (!start_is_legal(place.partition, tensor->partitions)) return "starts at no legal partition";
    if (tensor->base >= 0 && place.partition != tensor->base) return "is not at its `base`";
    if (place.byte < 0 || __builtin_add_overflow(place.byte, tensor->bytes, &end) ||
        end > target_usable(c->target))
        return "leaves the State Buffer";
    if (!fixed && place.byte % tensor->align != 0)
        return str_format(
                   c->arena,
                   "is not aligned to %lld bytes, as what the original does not place must be",
                   (long long)tensor->align)
            .text;
    return NULL;
}

static const Place *fixed_places(const Checker *c, uint32_t number) {
    MatchRole role = c->match->roles[number];
    if (role.kind != ROLE_SAME) return NULL;
    const Tensor *was = &c->match->original->tensors[role.original];
    return was->fixed ? was->at : NULL;
}

static void check_buffer(const Checker *c, uint32_t number) {
    const Tensor *tensor = &c->match->result->tensors[number];
    const Place *fixed = fixed_places(c, number);
    if (!tensor->at) {
        if (fixed || tensor->output)
            diag_error(c->diags, tensor->span, "%s %s", shown_name(c->arena, tensor),
                       fixed ? "lost its place" : "is an output but has no place");
        return;
    }
    for (int64_t b = 0; b < tensor->blocks; b++) {
        Place place = tensor->at[b];
        const char *fault = place_fault(c, tensor, place, fixed != NULL);
        if (fixed && (place.partition != fixed[b].partition || place.byte != fixed[b].byte))
            fault = "was fixed elsewhere";
        if (!fault) continue;
        diag_error(c->diags, tensor->span, "block %lld of %s at %d:%lld %s", (long long)b,
                   shown_name(c->arena, tensor), place.partition, (long long)place.byte, fault);
        return;
    }
}

/* The end of a tensor's bytes in the spill area, INT64_MAX if no number holds it. */
static int64_t area_end(const Tensor *tensor) {
    int64_t size =
        saturating_mul(saturating_mul(tensor->blocks, tensor->partitions), tensor->bytes);
    return saturating_add(tensor->offset, size);
}

static bool check_area_end(const Checker *c, const Tensor *tensor) {
    if (tensor->space != SPACE_DRAM || tensor->offset < 0 || area_end(tensor) < INT64_MAX)
        return true;
    diag_error(c->diags, tensor->span, "%s leaves the spill area", shown_name(c->arena, tensor));
    return false;
}

static void check_home(const Checker *c, const Tensor *tensor) {
    if (tensor->offset > 0 && tensor->offset % HOME_ALIGN != 0)
        diag_error(c->diags, tensor->span, "%s at %lld is not aligned to %d bytes",
                   shown_name(c->arena, tensor), (long long)tensor->offset, HOME_ALIGN);
}

/* One sweep by first byte: homes against the tensors that were there before. */
static void check_clear(const Checker *c) {
    const Func *result = c->match->result;
    SortKey *keys = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < result->ntensors; i++)
        if (result->tensors[i].space == SPACE_DRAM && result->tensors[i].offset >= 0)
            PUSH(c->arena, keys, count, capacity,
                 ((SortKey){(uint64_t)result->tensors[i].offset, i}));
    if (count == 0) return;
    sort_keys(keys, count, c->arena);
    /* The tensor of each kind that reaches furthest so far. */
    const Tensor *furthest[2] = {NULL, NULL};
    for (size_t k = 0; k < count; k++) {
        const Tensor *tensor = &result->tensors[keys[k].id];
        bool home = c->match->roles[keys[k].id].kind == ROLE_HOME;
        const Tensor *other = furthest[!home];
        if (other && area_end(other) > tensor->offset)
            diag_error(c->diags, home ? tensor->span : other->span,
                       "%s overlaps %s, which has its `at` from the original",
                       shown_name(c->arena, home ? tensor : other),
                       shown_name(c->arena, home ? other : tensor));
        if (!furthest[home] || area_end(tensor) > area_end(furthest[home])) furthest[home] = tensor;
    }
}

bool check_places(const Match *match, const Target *target, bool placed, Arena *arena,
                  DiagQueue *diags) {
    Checker checker = {match, target, arena, diags};
    uint32_t before = diags->errors;
    for (uint32_t i = 0; i < match->original->ntensors; i++)
        check_area_end(&checker, &match->original->tensors[i]);
    for (uint32_t i = 0; i < match->result->ntensors; i++) {
        const Tensor *tensor = &match->result->tensors[i];
        if (placed && tensor->space == SPACE_SB) check_buffer(&checker, i);
        if (match->roles[i].kind != ROLE_HOME) continue;
        if (check_area_end(&checker, tensor)) check_home(&checker, tensor);
    }
    check_clear(&checker);
    return diags->errors == before;
}
