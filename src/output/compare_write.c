#include <inttypes.h>

#include "output/compare.h"
#include "output/json.h"
#include "output/json_write.h"
#include "text/print.h"

/* ---- text ---- */

enum { MOST_SHOWN = 10, MOST_PLACES = 4 };

static const char *const KINDS[CHANGE_KINDS] = {"added",   "removed", "moved",
                                                "resized", "spilled", "unspilled"};

static void write_places(const Tensor *tensor, Writer *out) {
    if (tensor->space == SPACE_DRAM && tensor->offset >= 0) {
        write_int(out, tensor->offset);
        return;
    }
    if (!tensor->at) {
        write_text(out, "nowhere");
        return;
    }
    for (int64_t i = 0; i < tensor->blocks && i < MOST_PLACES; i++)
        write_format(out, "%s%" PRId32 ":%" PRId64, i > 0 ? ", " : "", tensor->at[i].partition,
                     tensor->at[i].byte);
    if (tensor->blocks > MOST_PLACES)
        write_format(out, " and %" PRId64 " more", tensor->blocks - MOST_PLACES);
}

static bool lies_elsewhere(const Tensor *a, const Tensor *b, int64_t block) {
    return a->at[block].partition != b->at[block].partition ||
           a->at[block].byte != b->at[block].byte;
}

/* `0:0, 0:64 -> 0:128, 0:64`; where the first places are equal, `block 7: 0:0 -> 0:64 and 2 more`:
 * blocks that both have. */
static void write_move(const Tensor *old, const Tensor *new, Writer *out) {
    int64_t blocks = old->blocks < new->blocks ? old->blocks : new->blocks;
    int64_t first = 0, moved = 0;
    for (int64_t b = blocks - 1; old->at && new->at &&b >= 0; b--)
        if (lies_elsewhere(old, new, b)) {
            first = b;
            moved++;
        }
    if (first < MOST_PLACES) {
        write_places(old, out);
        write_text(out, " -> ");
        write_places(new, out);
        return;
    }
    write_format(out, "block %" PRId64 ": %" PRId32 ":%" PRId64 " -> %" PRId32 ":%" PRId64, first,
                 old->at[first].partition, old->at[first].byte, new->at[first].partition,
                 new->at[first].byte);
    if (moved > 1) write_format(out, " and %" PRId64 " more", moved - 1);
}

static void write_count(size_t count, const char *one, const char *several, Writer *out) {
    write_format(out, "%zu %s", count, count == 1 ? one : several);
}

/* `2 copies, 1 save, 3 reloads`; in place `13 of 128 blocks, 1 save, 3 reloads`. */
static void write_spilled(const Version *version, Writer *out) {
    if (version->copies.count > 0 || version->leaving == 0) {
        write_count(version->copies.count, "copy", "copies", out);
        write_text(out, ", ");
    }
    if (version->leaving > 0)
        write_format(out, "%" PRId64 " of %" PRId64 " block%s, ", version->leaving,
                     version->tensor->blocks, version->tensor->blocks == 1 ? "" : "s");
    write_count(version->saves, "save", "saves", out);
    write_text(out, ", ");
    write_count(version->reloads, "reload", "reloads", out);
}

/* All that there is to say of a tensor that only one file has. */
static void write_version(const Version *version, Writer *out) {
    const Tensor *tensor = version->tensor;
    if (tensor) print_type(tensor, out);
    if (tensor && (tensor->at || tensor->offset >= 0)) {
        write_text(out, " at ");
        write_places(tensor, out);
    }
    if (version->tensor && version_is_spilled(version)) write_text(out, ", ");
    if (version_is_spilled(version)) {
        write_text(out, "spilled: ");
        write_spilled(version, out);
    }
}

/* One side of a change of what leaves. */
static void write_spilling(const Version *version, Writer *out) {
    if (version_is_spilled(version))
        write_spilled(version, out);
    else
        write_version(version, out);
}

static void write_change(ChangeKind kind, const TensorChange *change, Writer *out) {
    const Version *old = change->versions[SIDE_OLD], *new = change->versions[SIDE_NEW];
    write_format(out, "  %-9s  ", KINDS[kind]);
    print_tensor_name(change->name, out);
    write_text(out, "  ");
    switch (kind) {
    case CHANGE_ADDED:
        write_version(new, out);
        break;
    case CHANGE_REMOVED:
        write_version(old, out);
        break;
    case CHANGE_MOVED:
        write_move(old->tensor, new->tensor, out);
        break;
    case CHANGE_RESIZED:
        print_type(old->tensor, out);
        write_text(out, " -> ");
        print_type(new->tensor, out);
        break;
    case CHANGE_SPILLED:
    case CHANGE_UNSPILLED:
        write_spilling(old, out);
        write_text(out, " -> ");
        write_spilling(new, out);
        break;
    case CHANGE_KINDS:
        break;
    }
    write_char(out, '\n');
}

static void write_list(ChangeKind kind, const ChangeList *list, bool all, Writer *out) {
    size_t shown = all || list->count <= MOST_SHOWN ? list->count : MOST_SHOWN;
    for (size_t i = 0; i < shown; i++)
        write_change(kind, &list->items[i], out);
    if (shown < list->count)
        write_format(out, "  %-9s  and %zu more\n", KINDS[kind], list->count - shown);
}

static void write_figure(const FuncChanges *func, const char *name, const int64_t figure[SIDES],
                         Writer *out) {
    int64_t old = figure[SIDE_OLD], new = figure[SIDE_NEW];
    write_format(out, "  %s: ", name);
    if (!func->funcs[SIDE_OLD] || !func->funcs[SIDE_NEW])
        write_int(out, func->funcs[SIDE_OLD] ? old : new);
    else if (old == new)
        write_format(out, "%" PRId64 ", as before", new);
    else
        write_format(out, "%" PRId64 " -> %" PRId64, old, new);
    write_char(out, '\n');
}

static void write_func(const FuncChanges *func, bool all, Writer *out) {
    print_func_name(func->name, out);
    if (!func->funcs[SIDE_OLD]) write_text(out, " is new");
    if (!func->funcs[SIDE_NEW]) write_text(out, " is gone");
    write_char(out, '\n');
    for (ChangeKind kind = 0; kind < CHANGE_KINDS; kind++)
        write_list(kind, &func->lists[kind], all, out);
    write_figure(func, "highest byte used", func->high_water, out);
    write_figure(func, "DMA cycles of spill code", func->spill_cycles, out);
    write_figure(func, "DMA bytes of spill code", func->dma_bytes, out);
}

void write_changes_text(const Changes *changes, bool all, Writer *out) {
    size_t differ = 0;
    for (size_t i = 0; i < changes->nfuncs; i++) {
        if (!changes->funcs[i].differs) continue;
        if (differ++ > 0) write_char(out, '\n');
        write_func(&changes->funcs[i], all, out);
    }
    if (differ == 0)
        write_text(out, "no difference\n");
    else if (changes->nfuncs > 1)
        write_format(out, "\n%zu of %zu functions differ\n", differ, changes->nfuncs);
}

/* ---- JSON ---- */

static void json_number(JsonOut *json, const char *key, int64_t number) {
    json_key(json, key);
    json_int(json, number);
}

static void json_names(JsonOut *json, const char *key, const TensorList *list) {
    json_key(json, key);
    json_open(json, '[');
    for (size_t i = 0; i < list->count; i++)
        json_str(json, list->items[i]->name);
    json_close(json, ']');
}

/* The members of a tensor in the other JSON that a comparison looks at. */
static void json_declared(JsonOut *json, const Tensor *tensor) {
    json_key(json, "name");
    json_str(json, tensor->name);
    json_key(json, "space");
    json_str(json, space_name(tensor->space));
    json_shape(json, tensor);
    json_key(json, "dtype");
    json_str(json, dtype_name(tensor->dtype));
    json_number(json, "blocks", tensor->blocks);
    json_number(json, "bytes_per_partition", tensor->bytes);
    json_placement(json, tensor);
}

static void json_version(JsonOut *json, const char *key, const Version *version) {
    json_key(json, key);
    if (!version) {
        json_null(json);
        return;
    }
    json_open(json, '{');
    if (version->tensor) json_declared(json, version->tensor);
    if (version_is_spilled(version)) {
        json_names(json, "homes", &version->homes);
        json_names(json, "copies", &version->copies);
        if (version->leaving > 0) json_number(json, "blocks_that_leave", version->leaving);
        json_number(json, "saves", version->saves);
        json_number(json, "reloads", version->reloads);
    }
    json_close(json, '}');
}

static void json_list(JsonOut *json, const char *key, const ChangeList *list) {
    json_key(json, key);
    json_open(json, '[');
    for (size_t i = 0; i < list->count; i++) {
        json_open(json, '{');
        json_key(json, "tensor");
        json_str(json, list->items[i].name);
        json_version(json, "old", list->items[i].versions[SIDE_OLD]);
        json_version(json, "new", list->items[i].versions[SIDE_NEW]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_figure(JsonOut *json, const char *key, const FuncChanges *func,
                        const int64_t figure[SIDES]) {
    json_key(json, key);
    json_open(json, '[');
    for (int side = 0; side < SIDES; side++) {
        if (func->funcs[side])
            json_int(json, figure[side]);
        else
            json_null(json);
    }
    json_close(json, ']');
}

void write_changes_json(const Changes *changes, Writer *out) {
    JsonOut json;
    json_begin(&json, out, false);
    json_open(&json, '{');
    json_key(&json, "functions");
    json_open(&json, '[');
    for (size_t i = 0; i < changes->nfuncs; i++) {
        const FuncChanges *func = &changes->funcs[i];
        json_open(&json, '{');
        json_key(&json, "name");
        json_str(&json, func->name);
        for (ChangeKind kind = 0; kind < CHANGE_KINDS; kind++)
            json_list(&json, KINDS[kind], &func->lists[kind]);
        json_figure(&json, "high_water", func, func->high_water);
        json_figure(&json, "spill_cycles", func, func->spill_cycles);
        json_figure(&json, "dma_bytes", func, func->dma_bytes);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    write_char(out, '\n');
}
