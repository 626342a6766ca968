#include "cli/check.h"

#include "cli/progress.h"
#include "verify/verify.h"

static const Func *find_func(const Module *module, Str name) {
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (str_equal(module->funcs[i].name, name)) return &module->funcs[i];
    return NULL;
}

/* Functions of the original that the placed file lacks. */
static void find_missing(const Module *original, Input *placed, const char *path) {
    for (uint32_t i = 0; i < original->nfuncs; i++) {
        Str name = original->funcs[i].name;
        if (!find_func(&placed->module, name))
            diag_file_error(&placed->diags, "function '@%.*s' of '%s' is missing", (int)name.length,
                            name.text, path);
    }
}

static void verify_all(const Module *original, Input *placed, Progress *progress) {
    for (uint32_t i = 0; i < placed->module.nfuncs; i++) {
        const Func *result = &placed->module.funcs[i];
        const Func *from = find_func(original, result->name);
        if (from)
            verify(from, result, &placed->module.target,
                   (VerifyOptions){.placed = true, .defined = from == result}, &placed->diags);
        else
            diag_error(&placed->diags, result->span, "the original has no function '@%.*s'",
                       (int)result->name.length, result->name.text);
        progress_step(progress);
    }
}

ExitStatus run_check(const CommandLine *line, Arena *arena) {
    Input placed, original;
    ExitStatus status = input_read_placed(&placed, arena, line->files[0], line);
    if (status != EXIT_DONE) return status;
    const Module *from = &placed.module;
    if (line->file_count == 2) {
        status = input_read_placed(&original, arena, line->files[1], line);
        if (status != EXIT_DONE) return status;
        from = &original.module;
        find_missing(from, &placed, line->files[1]);
    }
    Progress progress;
    progress_begin(&progress, line, "checking", &placed.module);
    verify_all(from, &placed, &progress);
    progress_end(&progress);
    bool good = placed.diags.errors == 0;
    input_report(&placed, line);
    return good ? EXIT_DONE : EXIT_FAULT;
}
