#include "text/parse.h"

#include "text/check.h"
#include "text/reader.h"

#include "lf.tab.h"

/* What can be checked in spite of errors, so that all of them are told in one run. */
static void check_the_rest(Reader *reader) {
    const Module *module = reader->module;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (!reader->facts[i].broken)
            check_func(&module->funcs[i], NULL, reader->facts[i].vague, reader->diags);
}

bool parse_lf(Source *source, Arena *arena, DiagQueue *diags, Module *module) {
    *module = (Module){.target = *target_builtin(STR("trn2"))};
    Reader reader = {
        .source = source, .arena = arena, .diags = diags, .module = module, .fault = UINT32_MAX};
    uint32_t errors = diags->errors;
    arena_init(&reader.scratch);
    strmap_init(&reader.func_names, &reader.scratch);
    check_encoding(&reader);
    void *scanner = scan_open(&reader, source->text, source->length);
    /* Errors that it has recovered from do not show in what it returns: the queue counts them. */
    lf_parse(&reader, scanner);
    scan_close(scanner);
    bool clean = diags->errors == errors;
    if (!clean) check_the_rest(&reader);
    arena_free(&reader.scratch);
    return clean;
}
