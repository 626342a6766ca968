/* For madvise(). */
#define _DEFAULT_SOURCE
#include "support/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_CHUNK = 64 * 1024, LARGEST_STEP = 64 * 1024 * 1024, LARGE_PAGE = 2 * 1024 * 1024 };

typedef struct Chunk {
    struct Chunk *older;
    size_t size; /* bytes after this header */
    max_align_t data[];
} Chunk;

static _Thread_local struct {
    void (*clean)(void *context);
    void *context;
} exhaustion;

void on_exhaustion(void (*clean)(void *context), void *context) {
    exhaustion.clean = clean;
    exhaustion.context = context;
}

void out_of_memory(void) {
    if (exhaustion.clean) exhaustion.clean(exhaustion.context);
    fputs("sballoc: error: out of memory\n", stderr);
    exit(3);
}

void *heap_alloc(size_t bytes) {
    return heap_resize(NULL, bytes);
}

void *heap_resize(void *memory, size_t bytes) {
    memory = realloc(memory, bytes > 0 ? bytes : 1);
    if (!memory) out_of_memory();
    return memory;
}

void arena_init(Arena *arena) {
    *arena = (Arena){0};
}

void arena_free(Arena *arena) {
    for (Chunk *chunk = arena->chunks; chunk;) {
        Chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    arena_init(arena);
}

void arena_reset(Arena *arena) {
    Chunk *newest = arena->chunks;
    if (!newest) return;
    for (Chunk *chunk = newest->older; chunk;) {
        Chunk *older = chunk->older;
        arena->bytes -= chunk->size;
        free(chunk);
        chunk = older;
    }
    newest->older = NULL;
    arena->next = (char *)newest->data;
}

void arena_adopt(Arena *arena, Arena *from) {
    if (!arena->chunks) {
        *arena = *from;
    } else if (from->chunks) {
        Chunk *oldest = from->chunks;
        while (oldest->older)
            oldest = oldest->older;
        oldest->older = arena->chunks->older;
        arena->chunks->older = from->chunks;
        arena->bytes += from->bytes;
    }
    arena_init(from);
}

/* Large chunks ask for large pages: where a page fault is dear, filling memory costs more than what
 * is done with it. The advice may be ignored. */
static Chunk *obtain(size_t bytes) {
    if (bytes < 2 * LARGE_PAGE) return malloc(bytes);
    void *memory;
    if (posix_memalign(&memory, LARGE_PAGE, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

/* Opens a chunk that holds at least `bytes`; sizes double so that chunks stay few. */
static void add_chunk(Arena *arena, size_t bytes) {
    size_t size = arena->chunks ? arena->chunks->size * 2 : FIRST_CHUNK;
    if (size > LARGEST_STEP) size = LARGEST_STEP;
    if (size < bytes) size = bytes;
    if (size > SIZE_MAX - sizeof(Chunk)) out_of_memory();
    Chunk *chunk = obtain(sizeof(Chunk) + size);
    if (!chunk) out_of_memory();
    chunk->older = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    arena->next = (char *)chunk->data;
    arena->end = arena->next + size;
    arena->bytes += size;
}

static size_t padded_size(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) out_of_memory();
    if (bytes > SIZE_MAX - alignof(max_align_t)) out_of_memory();
    return (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

void *arena_raw(Arena *arena, size_t count, size_t size) {
    size_t bytes = padded_size(count, size);
    if (!arena->next || bytes > (size_t)(arena->end - arena->next)) add_chunk(arena, bytes);
    void *result = arena->next;
    arena->next += bytes;
    return result;
}

void *arena_alloc(Arena *arena, size_t count, size_t size) {
    void *result = arena_raw(arena, count, size);
    memset(result, 0, count * size);
    return result;
}

void *arena_extend(Arena *arena, void *array, size_t old, size_t count, size_t size) {
    size_t had = padded_size(old, size);
    size_t wants = padded_size(count, size);
    if (array && (char *)array + had == arena->next &&
        wants - had <= (size_t)(arena->end - arena->next)) {
        arena->next += wants - had;
    } else {
        assert(array || old == 0);
        void *larger = arena_raw(arena, count, size);
        if (old) memcpy(larger, array, old * size);
        array = larger;
    }
    return array;
}

void *arena_grow(Arena *arena, void *array, size_t old, size_t count, size_t size) {
    array = arena_extend(arena, array, old, count, size);
    memset((char *)array + old * size, 0, (count - old) * size);
    return array;
}

char *arena_copy(Arena *arena, const char *text, size_t length) {
    char *copy = arena_raw(arena, length + 1, 1);
    if (length) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
