/* Parses, checks and prints: `parse [-q] [FILE]`. For the tests of the text layer; the exit code is
 * 2 after errors, 3 where reading or writing fails. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text/check.h"
#include "text/parse.h"
#include "text/print.h"

static bool print_all(const Module *module) {
    Writer out;
    writer_to_file(&out, STDOUT_FILENO);
    print_module(module, &out);
    bool written = writer_flush(&out);
    writer_free(&out);
    return written;
}

int main(int argc, char **argv) {
    bool quiet = argc > 1 && strcmp(argv[1], "-q") == 0;
    const char *path = argc > 1 + quiet ? argv[1 + quiet] : NULL;
    Arena arena;
    arena_init(&arena);
    Source source;
    if (source_read(&source, &arena, path) != SOURCE_READ) {
        perror(path);
        return 3;
    }
    DiagQueue diags;
    diag_init(&diags, &arena);
    Module module;
    bool good = parse_lf(&source, &arena, &diags, &module) && check_module(&module, &diags);
    diag_print(&diags, &source, (DiagStyle){.quiet = quiet}, stderr);
    bool written = !good || print_all(&module);
    arena_free(&arena);
    return !good ? 2 : written ? 0 : 3;
}
