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

/* What was made for one machine may not do on another. An original that names no target is for any.
 */
static void compare_targets(const Module *original, Input *placed, const char *path) {
    const Target *target = &placed->module.target;
    if (!original->has_target || target_same(target, &original->target)) return;
    long long usable = target_usable(&original->target);
    static const char FORMAT[] = "'%s' is for another target: %.*s, %lld usable bytes/partition";
    Str name = original->target.name;
    if (placed->module.has_target)
        diag_warning(&placed->diags, placed->module.target_span, FORMAT, path, (int)name.length,
                     name.text, usable);
    else
        diag_file_warning(&placed->diags, FORMAT, path, (int)name.length, name.text, usable);
}

/* sb tensors that a function uses without a place. */
typedef struct {
    uint32_t count, placed; /* of those that are used */
    uint32_t first;         /* in order of declaration */
} Placeless;

static Placeless find_placeless(const Func *func, Arena *arena) {
    Placeless found = {0};
    const bool *used = find_named(func, arena);
    for (uint32_t t = func->ntensors; t-- > 0;) {
        if (!used[t] || func->tensors[t].space != SPACE_SB) continue;
        bool has_place = func->tensors[t].at != NULL;
        found.placed += has_place;
        found.count += !has_place;
        if (!has_place) found.first = t;
    }
    return found;
}

/* A function that was never allocated: nothing marks it as placed, and several tensors are not, or
 * the only one. One of several is told by the referee. */
static bool is_unplaced(const Func *func, Placeless placeless) {
    bool many = placeless.count > (placeless.placed > 0);
    return many && !meta_find(func->meta, "ready_for_codegen");
}

static void tell_unplaced(Input *placed, const Func *func, Placeless placeless, uint32_t count) {
    const Tensor *tensor = &func->tensors[placeless.first];
    diag_error(&placed->diags, tensor->span, "@%.*s is not placed: it uses %u sb tensor%s no place",
               (int)func->name.length, func->name.text, placeless.count,
               placeless.count == 1 ? " that has" : "s that have");
    if (count > 1)
        diag_note(&placed->diags, tensor->span, false, "%u more function%s not placed either",
                  count - 1, count == 2 ? " is" : "s are");
}

/* Finds the functions that were never allocated, and tells of them once for the file. */
static bool *find_unplaced(Input *placed, Arena *arena) {
    const Module *module = &placed->module;
    bool *unplaced = NEW_ARRAY(arena, bool, module->nfuncs);
    uint32_t count = 0, first = 0;
    Placeless shown = {0};
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        Placeless placeless = find_placeless(&module->funcs[i], arena);
        unplaced[i] = is_unplaced(&module->funcs[i], placeless);
        if (unplaced[i] && count++ == 0) {
            first = i;
            shown = placeless;
        }
    }
    if (count > 0) tell_unplaced(placed, &module->funcs[first], shown, count);
    return unplaced;
}

static void verify_all(const Module *original, Input *placed, const bool *unplaced,
                       Progress *progress) {
    for (uint32_t i = 0; i < placed->module.nfuncs; i++) {
        const Func *result = &placed->module.funcs[i];
        if (unplaced[i]) continue;
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
        compare_targets(&original.module, &placed, line->files[1]);
    }
    Progress progress;
    progress_begin(&progress, line, "checking", &placed.module);
    verify_all(from, &placed, find_unplaced(&placed, arena), &progress);
    progress_end(&progress);
    bool good = placed.diags.errors == 0;
    input_report(&placed, line);
    return good ? EXIT_DONE : EXIT_FAULT;
}
