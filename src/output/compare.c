#include "output/compare.h"

#include <assert.h>

#include "ir/dma.h"
#include "ir/marks.h"
#include "ir/names.h"
#include "ir/runs.h"
#include "support/checked.h"

/* ---- the tensors of one function, with what spilling made of them put together ---- */

typedef struct {
    const Func *func;
    StrMap names;   /* positions in `items` */
    Str *keys;      /* [count] */
    Version *items; /* [count] some of them only for the loads of their parts */
    uint32_t count;
    uint32_t *root_of; /* [ntensors] the item of the tensor that it was made of */
    DmaSum added;      /* by spilling; cycles and bytes */
} Table;

/* True for `NAME_SplitN`: an independent part of NAME, which is a tensor like others. */
static bool is_split_part(Str name, Str of) {
    Str stem;
    return derived_stem(name, PART_MARK, &stem) && str_equal(stem, of);
}

/* The tensor of the input that this one was made of, or its own name. */
static Str root_name(const Tensor *tensor) {
    const Meta *of = meta_find(tensor->meta, "of");
    return of && of->kind == META_TEXT ? of->text : tensor->name;
}

static uint32_t add_item(Table *table, Str key) {
    uint32_t item = strmap_add(&table->names, key, table->count);
    if (item == table->count) table->keys[table->count++] = key;
    return item;
}

static void add_tensor(Table *table, uint32_t id, const Leaving *leaving, Arena *arena) {
    const Tensor *tensor = &table->func->tensors[id];
    Str root = root_name(tensor);
    bool own = str_equal(root, tensor->name) || is_split_part(tensor->name, root);
    Version *version = &table->items[add_item(table, own ? tensor->name : root)];
    table->root_of[id] = add_item(table, root);
    if (own) {
        version->tensor = tensor;
        version->leaving = leaving->all[id];
        return;
    }
    TensorList *list = tensor->space == SPACE_SB ? &version->copies : &version->homes;
    PUSH(arena, list->items, list->count, list->capacity, tensor);
}

static void add_dma(Table *table, const Inst *inst, const Target *target) {
    bool save = inst->kind == OP_SAVE;
    const Operand *end = save ? inst_src(inst) : inst_dst(inst);
    Version *version = &table->items[table->root_of[end->tensor]];
    DmaSum sum = sum_dma(table->func, inst, target);
    if (sum.saves + sum.reloads > 0) {
        table->added.cycles = saturating_add(table->added.cycles, sum.cycles);
        table->added.bytes = saturating_add(table->added.bytes, sum.bytes);
        version->saves += sum.saves;
        version->reloads += sum.reloads;
    } else if (!save) {
        version->load_cycles = saturating_add(version->load_cycles, sum.cycles);
        version->load_bytes = saturating_add(version->load_bytes, sum.bytes);
    }
}

/* A function that is missing gives an empty table. */
static Table make_table(const Func *func, const Target *target, Arena *arena) {
    Table table = {.func = func};
    strmap_init(&table.names, arena);
    if (!func) return table;
    table.keys = RAW_ARRAY(arena, Str, 2 * (size_t)func->ntensors);
    table.items = NEW_ARRAY(arena, Version, 2 * (size_t)func->ntensors);
    table.root_of = RAW_ARRAY(arena, uint32_t, func->ntensors);
    Leaving leaving = leaving_blocks(func, arena);
    for (uint32_t t = 0; t < func->ntensors; t++)
        add_tensor(&table, t, &leaving, arena);
    for (uint32_t i = 0; i < func->ninsts; i++)
        if (func->insts[i].kind == OP_LOAD || func->insts[i].kind == OP_SAVE)
            add_dma(&table, &func->insts[i], target);
    return table;
}

static const Version *find_version(const Table *table, Str name) {
    uint32_t item = strmap_get(&table->names, name);
    return item == UINT32_MAX ? NULL : &table->items[item];
}

static bool is_there(const Version *version) {
    return version && (version->tensor || version_is_spilled(version));
}

/* What became of a tensor of the other file: itself, or the spilled tensor that it is a part of. */
static const Version *find_counterpart(const Table *table, Str name, const Version *other) {
    const Version *version = find_version(table, name);
    if (is_there(version) || !other->tensor) return is_there(version) ? version : NULL;
    const Version *root = find_version(table, root_name(other->tensor));
    return root && version_is_spilled(root) ? root : NULL;
}

/* ---- what differs ---- */

static bool same_shape(const Tensor *a, const Tensor *b) {
    if (a->space != b->space || a->dtype != b->dtype || a->blocks != b->blocks ||
        a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* Looks at the blocks that both have. */
static bool same_places(const Tensor *a, const Tensor *b) {
    if (a->offset != b->offset || !a->at != !b->at) return false;
    int64_t blocks = a->blocks < b->blocks ? a->blocks : b->blocks;
    for (int64_t i = 0; a->at && i < blocks; i++)
        if (a->at[i].partition != b->at[i].partition || a->at[i].byte != b->at[i].byte)
            return false;
    return true;
}

static void push_change(FuncChanges *changes, ChangeKind kind, TensorChange change, Arena *arena) {
    ChangeList *list = &changes->lists[kind];
    PUSH(arena, list->items, list->count, list->capacity, change);
    changes->differs = true;
}

static void compare_tensors(FuncChanges *changes, TensorChange change, Arena *arena) {
    const Tensor *old = change.versions[SIDE_OLD]->tensor;
    const Tensor *new = change.versions[SIDE_NEW]->tensor;
    if (!old || !new) return;
    if (!same_places(old, new)) push_change(changes, CHANGE_MOVED, change, arena);
    if (!same_shape(old, new)) push_change(changes, CHANGE_RESIZED, change, arena);
}

/* The same number in a list of homes or copies; NULL past its end. */
static const Version *part_version(const TensorList *list, size_t i, Arena *arena) {
    if (i >= list->count) return NULL;
    Version *version = NEW(arena, Version);
    version->tensor = list->items[i];
    return version;
}

/* Homes or copies of a tensor that is spilled in both files: their serial numbers depend on what
 * else is spilled, so that the first is compared with the first and so on. */
static void compare_parts(FuncChanges *changes, const TensorList *old, const TensorList *new,
                          Arena *arena) {
    for (size_t i = 0; i < old->count || i < new->count; i++) {
        TensorChange change = {
            .versions = {part_version(old, i, arena), part_version(new, i, arena)}};
        change.name = i < new->count ? new->items[i]->name : old->items[i]->name;
        if (i >= old->count)
            push_change(changes, CHANGE_ADDED, change, arena);
        else if (i >= new->count)
            push_change(changes, CHANGE_REMOVED, change, arena);
        else
            compare_tensors(changes, change, arena);
    }
}

/* False for a part of a split tensor and what it became where the whole was spilled. */
static bool is_same_item(const Version *old, const Version *new) {
    return !old->tensor || !new->tensor || str_equal(old->tensor->name, new->tensor->name);
}

static void compare_versions(FuncChanges *changes, TensorChange change, Arena *arena) {
    const Version *old = change.versions[SIDE_OLD], *new = change.versions[SIDE_NEW];
    if (!old || !new) {
        push_change(changes, old ? CHANGE_REMOVED : CHANGE_ADDED, change, arena);
        return;
    }
    bool was = version_is_spilled(old), is = version_is_spilled(new);
    if (is_same_item(old, new)) compare_tensors(changes, change, arena);
    bool more = was == is ? new->leaving > old->leaving : is;
    if (was != is || new->leaving != old->leaving)
        push_change(changes, more ? CHANGE_SPILLED : CHANGE_UNSPILLED, change, arena);
    if (!was || !is) return;
    compare_parts(changes, &old->homes, &new->homes, arena);
    compare_parts(changes, &old->copies, &new->copies, arena);
}

/* What one side's DMAs were if each load that only the other still has were there. */
static void subtract_needless(FuncChanges *changes, Side side, const Version *here,
                              const Version *other) {
    if (!version_is_spilled(here)) return;
    if (other->load_cycles <= here->load_cycles) return;
    changes->spill_cycles[side] = saturating_sub(
        changes->spill_cycles[side], saturating_sub(other->load_cycles, here->load_cycles));
    changes->dma_bytes[side] = saturating_sub(changes->dma_bytes[side],
                                              saturating_sub(other->load_bytes, here->load_bytes));
}

static void compare_funcs(FuncChanges *changes, const Table tables[SIDES], Arena *arena) {
    for (int side = 0; side < SIDES; side++) {
        if (!changes->funcs[side]) continue;
        changes->high_water[side] = high_water(changes->funcs[side]);
        changes->spill_cycles[side] = tables[side].added.cycles;
        changes->dma_bytes[side] = tables[side].added.bytes;
    }
    for (uint32_t i = 0; i < tables[SIDE_OLD].count; i++) {
        Str name = tables[SIDE_OLD].keys[i];
        const Version *old = &tables[SIDE_OLD].items[i];
        const Version *new = find_version(&tables[SIDE_NEW], name);
        if (new) subtract_needless(changes, SIDE_OLD, old, new);
        if (new) subtract_needless(changes, SIDE_NEW, new, old);
        if (!is_there(old)) continue;
        new = find_counterpart(&tables[SIDE_NEW], name, old);
        compare_versions(changes, (TensorChange){name, {old, new}}, arena);
    }
    for (uint32_t i = 0; i < tables[SIDE_NEW].count; i++) {
        Str name = tables[SIDE_NEW].keys[i];
        const Version *new = &tables[SIDE_NEW].items[i];
        if (!is_there(new) || is_there(find_version(&tables[SIDE_OLD], name))) continue;
        const Version *old = find_counterpart(&tables[SIDE_OLD], name, new);
        compare_versions(changes, (TensorChange){name, {old, new}}, arena);
    }
}

static bool figures_differ(const FuncChanges *changes) {
    return !changes->funcs[SIDE_OLD] || !changes->funcs[SIDE_NEW] ||
           changes->high_water[SIDE_OLD] != changes->high_water[SIDE_NEW] ||
           changes->spill_cycles[SIDE_OLD] != changes->spill_cycles[SIDE_NEW] ||
           changes->dma_bytes[SIDE_OLD] != changes->dma_bytes[SIDE_NEW];
}

static void push_func(Changes *changes, const Module *const modules[SIDES], const Func *old,
                      const Func *new, Arena *arena) {
    assert(old || new);
    FuncChanges func = {.name = old ? old->name : new->name, .funcs = {old, new}};
    Table tables[SIDES];
    for (int side = 0; side < SIDES; side++)
        tables[side] = make_table(func.funcs[side], &modules[side]->target, arena);
    compare_funcs(&func, tables, arena);
    func.differs |= figures_differ(&func);
    changes->differ |= func.differs;
    PUSH(arena, changes->funcs, changes->nfuncs, changes->func_capacity, func);
}

static void name_funcs(const Module *module, StrMap *names, Arena *arena) {
    strmap_init(names, arena);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        strmap_add(names, module->funcs[i].name, i);
}

Changes compare_modules(const Module *old, const Module *new, Arena *arena) {
    Changes changes = {0};
    const Module *const modules[SIDES] = {old, new};
    StrMap old_names, new_names;
    name_funcs(old, &old_names, arena);
    name_funcs(new, &new_names, arena);
    for (uint32_t i = 0; i < old->nfuncs; i++) {
        uint32_t found = strmap_get(&new_names, old->funcs[i].name);
        push_func(&changes, modules, &old->funcs[i],
                  found == UINT32_MAX ? NULL : &new->funcs[found], arena);
    }
    for (uint32_t i = 0; i < new->nfuncs; i++)
        if (strmap_get(&old_names, new->funcs[i].name) == UINT32_MAX)
            push_func(&changes, modules, NULL, &new->funcs[i], arena);
    return changes;
}
