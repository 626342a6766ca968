/* Memory by lifetime: what is made together is freed together. */
#ifndef SUPPORT_ARENA_H
#define SUPPORT_ARENA_H

#include <stddef.h>

/* A bump allocator. One arena is used by one thread at a time. */
typedef struct Arena {
    struct Chunk *chunks; /* newest first; owned */
    char *next;           /* first free byte of the newest chunk */
    char *end;            /* one past its last */
    size_t bytes;         /* obtained from the system in all */
} Arena;

void arena_init(Arena *arena);

/* Frees everything at once; the arena can be used again. */
void arena_free(Arena *arena);

/* Frees everything but keeps the newest chunk for what comes next: for scratch that is used again
 * and again. */
void arena_reset(Arena *arena);

/* All that `from` holds becomes the other's, and is freed with it. O(chunks of `from`). */
void arena_adopt(Arena *arena, Arena *from);

/* `count` elements of `size` bytes, zeroed, aligned for any type. Never NULL: where memory is short
 * (or the product overflows) the process says so and exits with 3. */
void *arena_alloc(Arena *arena, size_t count, size_t size);

/* The same, not zeroed: for arrays that are filled at once. */
void *arena_raw(Arena *arena, size_t count, size_t size);

/* Enlarges an array from `old` to `count` elements; the new ones are zeroed. The old array is
 * extended in place where it is the arena's last, else copied and its place is lost. */
void *arena_grow(Arena *arena, void *array, size_t old, size_t count, size_t size);

/* The same; the new elements are not zeroed. */
void *arena_extend(Arena *arena, void *array, size_t old, size_t count, size_t size);

/* A copy of `length` bytes, with a NUL after them. */
char *arena_copy(Arena *arena, const char *text, size_t length);

#define NEW(arena, type) ((type *)arena_alloc((arena), 1, sizeof(type)))
#define NEW_ARRAY(arena, type, count) ((type *)arena_alloc((arena), (count), sizeof(type)))
#define RAW_ARRAY(arena, type, count) ((type *)arena_raw((arena), (count), sizeof(type)))

/* Appends to an array kept as three variables (items, count, capacity) in an arena; doubles. */
#define PUSH(arena, items, count, capacity, value)                                                 \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            size_t wanted_ = (capacity) ? (size_t)(capacity)*2 : 8;                                \
            (items) = arena_extend((arena), (items), (capacity), wanted_, sizeof *(items));        \
            (capacity) = wanted_;                                                                  \
        }                                                                                          \
        (items)[(count)++] = (value);                                                              \
    } while (0)

/* Says that memory is short and exits with 3, after what on_exhaustion() asks for. */
_Noreturn void out_of_memory(void);

/* What shall be done first where memory runs out in this thread, or NULL: to remove files that are
 * not whole. One at a time; it must not allocate. Nobody who asks for memory could pass it on, so
 * it is kept for the thread. */
void on_exhaustion(void (*clean)(void *context), void *context);

/* malloc() and realloc() that never return NULL: for what is freed by its owner, and for libraries.
 */
void *heap_alloc(size_t bytes);
void *heap_resize(void *memory, size_t bytes);

#endif
