#include "spill/homes.h"

#include "analysis/live.h"
#include "support/checked.h"
#include "support/sort.h"

enum { HOME_ALIGN = 64, PIECES_LOOKED_AT = 256 };

/* Free bytes [begin, end), linked by offset. */
typedef struct {
    int64_t begin, end;
    uint32_t next; /* UINT32_MAX at the end */
} FreeBytes;

typedef struct {
    Arena *arena;
    FreeBytes *pieces; /* pieces[0] is a head that holds nothing */
    size_t count, capacity;
} FreeList;

static uint32_t add_piece(FreeList *list, int64_t begin, int64_t end, uint32_t next) {
    uint32_t id = (uint32_t)list->count;
    FreeBytes piece = {begin, end, next};
    PUSH(list->arena, list->pieces, list->count, list->capacity, piece);
    return id;
}

/* Takes the lowest free place of `size` bytes among the first pieces, else at the open end. */
static int64_t take(FreeList *list, int64_t size) {
    uint32_t before = 0, id = list->pieces[0].next;
    for (int looked = 0;; looked++) {
        FreeBytes *piece = &list->pieces[id];
        int64_t begin = round_up(piece->begin, HOME_ALIGN);
        bool open = piece->next == UINT32_MAX;
        if ((open || looked < PIECES_LOOKED_AT) && saturating_add(begin, size) <= piece->end) {
            piece->begin = begin + size;
            if (piece->begin >= piece->end && !open) list->pieces[before].next = piece->next;
            return begin;
        }
        if (open) return begin; /* past the end of int64_t: cannot happen with checked sizes */
        before = id;
        id = piece->next;
    }
}

/* Gives [begin, end) back, joined with its neighbours. */
static void give(FreeList *list, int64_t begin, int64_t end) {
    uint32_t before = 0;
    while (list->pieces[list->pieces[before].next].begin < begin)
        before = list->pieces[before].next;
    uint32_t after = list->pieces[before].next;
    if (list->pieces[after].begin == end) {
        list->pieces[after].begin = begin;
        end = list->pieces[after].end;
    } else {
        after = add_piece(list, begin, end, after);
        list->pieces[before].next = after;
    }
    if (before != 0 && list->pieces[before].end >= begin) {
        list->pieces[before].end = end;
        list->pieces[before].next = list->pieces[after].next;
    }
}

static int64_t dram_size(const Tensor *tensor) {
    return saturating_mul(tensor->blocks, saturating_mul(tensor->partitions, tensor->bytes));
}

/* Everything is free but what dram tensors of the input hold. */
static void init_free_list(FreeList *list, const Rewritten *rewritten, Arena *arena) {
    const Func *func = rewritten->func;
    *list = (FreeList){.arena = arena};
    add_piece(list, -1, -1, UINT32_MAX);
    SortKey *held = RAW_ARRAY(arena, SortKey, func->ntensors);
    size_t count = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        const Tensor *tensor = &func->tensors[t];
        if (tensor->space == SPACE_DRAM && tensor->offset >= 0 && rewritten->role[t] == ROLE_KEPT)
            held[count++] = (SortKey){(uint64_t)tensor->offset, t};
    }
    sort_keys(held, count, arena);
    int64_t begin = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const Tensor *tensor = &func->tensors[held[i].id];
        if (tensor->offset > begin) {
            uint32_t piece = add_piece(list, begin, tensor->offset, UINT32_MAX);
            list->pieces[last].next = piece;
            last = piece;
        }
        int64_t end = saturating_add(tensor->offset, dram_size(tensor));
        if (end > begin) begin = end;
    }
    uint32_t open = add_piece(list, begin, INT64_MAX, UINT32_MAX);
    list->pieces[last].next = open;
}

/* Homes in order of their first point (`by_end`: their last). */
static SortKey *order_homes(const Rewritten *rewritten, const Live *live, bool by_end,
                            uint32_t *count, Arena *arena) {
    const Func *func = rewritten->func;
    SortKey *order = RAW_ARRAY(arena, SortKey, func->ntensors);
    *count = 0;
    for (uint32_t t = 0; t < func->ntensors; t++) {
        if (rewritten->role[t] != ROLE_HOME || live->whole[t].count == 0) continue;
        LiveRange range = live->whole[t];
        order[(*count)++] =
            (SortKey){by_end ? range.items[range.count - 1].last : range.items[0].first, t};
    }
    sort_keys(order, *count, arena);
    return order;
}

int64_t place_homes(Rewritten *rewritten, Arena *scratch) {
    if (!added_any(rewritten)) return 0;
    Func *func = rewritten->func;
    bool *wanted = NEW_ARRAY(scratch, bool, func->ntensors);
    for (uint32_t t = 0; t < func->ntensors; t++)
        wanted[t] = rewritten->role[t] == ROLE_HOME;
    Live live = live_range_of(func, scratch, wanted, NULL);
    uint32_t count;
    SortKey *starts = order_homes(rewritten, &live, false, &count, scratch);
    SortKey *ends = order_homes(rewritten, &live, true, &count, scratch);
    FreeList list;
    init_free_list(&list, rewritten, scratch);
    int64_t top = 0;
    for (uint32_t i = 0, ended = 0; i < count; i++) {
        for (; ends[ended].key < starts[i].key; ended++) {
            const Tensor *home = &func->tensors[ends[ended].id];
            give(&list, home->offset, round_up(home->offset + dram_size(home), HOME_ALIGN));
        }
        Tensor *home = &func->tensors[starts[i].id];
        home->offset = take(&list, round_up(dram_size(home), HOME_ALIGN));
        if (home->offset + dram_size(home) > top) top = home->offset + dram_size(home);
    }
    return top;
}
