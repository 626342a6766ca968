/* Runs findings of `make fuzz` again: `fuzz TARGET FILE...`. Aborts at what is wrong. */
#include "test/fuzz.h"

#include <stdio.h>

#include "support/source.h"

int main(int argc, char **argv) {
    FuzzTarget *target = argc > 1 ? fuzz_find(argv[1]) : NULL;
    if (!target) {
        fputs("usage: fuzz text|json|program FILE...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        Arena arena;
        Source source;
        arena_init(&arena);
        if (source_read(&source, &arena, argv[i]) != SOURCE_READ) {
            perror(argv[i]);
            return 3;
        }
        target((const uint8_t *)source.text, source.length);
        printf("%s\n", argv[i]);
        arena_free(&arena);
    }
    return 0;
}
