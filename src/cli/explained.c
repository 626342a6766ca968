#include "cli/explained.h"

#include <string.h>

#include "ir/names.h"
#include "text/word.h"

/* What is read for an option. */
typedef struct {
    const char *option;
    bool derived; /* a tensor may be one that the allocation makes */
    const Module *module;
    Arena *arena;
} Question;

/* What was allocated. */
typedef struct {
    const FuncJob *jobs;
    uint32_t count;
} FuncJobs;

/* ---- the argument ---- */

/* Takes a name off the front of `text`: one in quotes, or all before `end`. */
static Str take_name(Str *text, char end, Arena *arena) {
    char *name = arena_raw(arena, (size_t)text->length + 1, 1);
    uint32_t length = 0, at = 0;
    bool quoted = text->length > 0 && text->text[0] == '"';
    for (at = quoted; at < text->length && text->text[at] != (quoted ? '"' : end); at++) {
        if (quoted && text->text[at] == '\\' && at + 1 < text->length) at++;
        name[length++] = text->text[at];
    }
    if (quoted && at < text->length) at++;
    text->text += at;
    text->length -= at;
    return (Str){name, length};
}

static bool take_char(Str *text, char c) {
    if (text->length == 0 || text->text[0] != c) return false;
    text->text++;
    text->length--;
    return true;
}

/* ---- what there is ---- */

/* `what` begins the name: `function '@`. */
static ExitStatus fail_to_find(const Question *question, const char *what, Str name,
                               const Str *names, size_t count) {
    const char *option = question->option, *sigil = strchr(what, '\'') + 1;
    Str near = str_nearest(name, names, (uint32_t)count);
    if (near.length == 0)
        return fail(EXIT_WRONG, "option '--%s': no %s%.*s'", option, what, STR_ARGS(name));
    return fail(EXIT_WRONG, "option '--%s': no %s%.*s'; did you mean '%s%.*s'?", option, what,
                STR_ARGS(name), sigil, STR_ARGS(near));
}

static ExitStatus find_func(const Question *question, Wish *wish, Str name) {
    const Module *module = question->module;
    Str *names = RAW_ARRAY(question->arena, Str, module->nfuncs);
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        names[f] = module->funcs[f].name;
        if (str_equal(names[f], name)) wish->func = &module->funcs[f];
    }
    if (wish->func) return EXIT_DONE;
    return fail_to_find(question, "function '@", name, names, module->nfuncs);
}

/* Names made from the input's: copies, homes and parts have them, and which there are is known only
 * at the end. */
static bool is_derived(Str name, Str from) {
    static const char *const MARKS[] = {COPY_MARK, HOME_MARK, PART_MARK};
    if (name.length <= from.length || memcmp(name.text, from.text, from.length) != 0) return false;
    Str rest = {name.text + from.length, name.length - from.length};
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        if (rest.length > strlen(MARKS[i]) && memcmp(rest.text, MARKS[i], strlen(MARKS[i])) == 0)
            return true;
    return false;
}

static ExitStatus find_tensor(const Question *question, const Wish *wish) {
    const Module *module = question->module;
    Str *names = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        const Func *func = &module->funcs[f];
        for (uint32_t t = 0; t < func->ntensors && wish_is_of(wish, func); t++) {
            Str one = func->tensors[t].name;
            if (str_equal(one, wish->tensor) ||
                (question->derived && is_derived(wish->tensor, one)))
                return EXIT_DONE;
            PUSH(question->arena, names, count, capacity, one);
        }
    }
    return fail_to_find(question, "tensor '", wish->tensor, names, count);
}

/* Reads `[@FUNCTION:][%]TENSOR` and finds both in `module`. */
static ExitStatus find_wish(const Question *question, Wish *wish, const char *argument) {
    Arena *arena = question->arena;
    Str rest = str_from(argument);
    if (take_char(&rest, '@')) {
        Str func = take_name(&rest, ':', arena);
        if (!take_char(&rest, ':'))
            return fail(EXIT_WRONG,
                        "option '--%s': '%s' names no tensor; @FUNCTION:%%TENSOR "
                        "does",
                        question->option, argument);
        ExitStatus status = find_func(question, wish, func);
        if (status != EXIT_DONE) return status;
    }
    take_char(&rest, '%');
    Str whole = rest;
    wish->tensor = take_name(&rest, '\0', arena);
    if (rest.length > 0) wish->tensor = whole; /* something stands behind the quotes */
    return find_tensor(question, wish);
}

static ExitStatus find_wishes(const Question *question, Wishes *wishes, const TextList *arguments) {
    Wish *items = NEW_ARRAY(question->arena, Wish, arguments->count);
    uint32_t count = 0;
    ExitStatus status = EXIT_DONE;
    for (size_t i = 0; i < arguments->count && status == EXIT_DONE; i++)
        if (arguments->items[i]) status = find_wish(question, &items[count++], arguments->items[i]);
    *wishes = (Wishes){items, count};
    return status;
}

ExitStatus explained_find(Options *options, const CommandLine *line, const Module *module,
                          Arena *arena) {
    Question explain = {"explain", true, module, arena};
    Question headroom = {"headroom", false, module, arena};
    ExitStatus status = find_wishes(&explain, &options->explain, &line->explain);
    if (status != EXIT_DONE) return status;
    return find_wishes(&headroom, &options->headroom, &line->headroom);
}

static bool is_explained(uint32_t wish, const FuncJobs *done) {
    for (uint32_t i = 0; i < done->count; i++) {
        const bool *explained = done->jobs[i].result.explained;
        if (explained && explained[wish]) return true;
    }
    return false;
}

bool explained_all(const Wishes *explained, const FuncJob *jobs, uint32_t count) {
    for (uint32_t i = 0; i < explained->count; i++)
        if (!is_explained(i, &(FuncJobs){jobs, count})) return false;
    return true;
}

static ExitStatus check_wish(const Wishes *explained, uint32_t wish, const FuncJobs *done,
                             Arena *arena) {
    const Question *question = &(Question){.option = "explain"};
    if (is_explained(wish, done)) return EXIT_DONE;
    Str *names = NULL;
    size_t known = 0, capacity = 0;
    for (uint32_t i = 0; i < done->count; i++) {
        const Allocation *result = &done->jobs[i].result;
        if (!wish_is_of(&explained->items[wish], done->jobs[i].func)) continue;
        for (uint32_t t = 0; t < result->func->ntensors; t++)
            PUSH(arena, names, known, capacity, result->func->tensors[t].name);
    }
    return fail_to_find(question, "tensor '", explained->items[wish].tensor, names, known);
}

ExitStatus explained_check(const Wishes *explained, const FuncJob *jobs, uint32_t count,
                           Arena *arena) {
    ExitStatus status = EXIT_DONE;
    for (uint32_t i = 0; i < explained->count && status == EXIT_DONE; i++)
        status = check_wish(explained, i, &(FuncJobs){jobs, count}, arena);
    return status;
}
