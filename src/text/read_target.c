/* Target blocks: names, keys and sane values. */
#include "text/reader.h"

enum { KEYS = 5, KEY_BYTES = 0, KEY_RESERVED = 1, KEY_RATE = 4, ALL_KEYS = (1 << KEYS) - 1 };

static const Str KEY_NAMES[KEYS] = {
    {"sb_bytes", 8}, {"sb_reserved", 11}, {"sb_init", 7}, {"dma_init", 8}, {"dma_rate", 8},
};
/* Sizes in granules fit 32 bits, and sums of cycles 64. */
static const int64_t MOST[KEYS] = {TARGET_MOST_BYTES, TARGET_MOST_BYTES, TARGET_MOST_CYCLES,
                                   TARGET_MOST_CYCLES, TARGET_MOST_CYCLES};

static int64_t *field(Target *target, int key) {
    int64_t *fields[KEYS] = {&target->sb_bytes, &target->sb_reserved, &target->sb_init,
                             &target->dma_init, &target->dma_rate};
    return fields[key];
}

void begin_target(Reader *reader, Str name, Span span, Span keyword) {
    Module *module = reader->module;
    reader->extra_target = module->has_target || module->nfuncs > 0 || reader->seen_func;
    if (module->has_target) {
        diag_error(reader->diags, keyword, "a second target");
        diag_note(reader->diags, module->target_span, true, "the first one is here");
    } else if (reader->extra_target) {
        diag_error(reader->diags, keyword, "the target must stand before the functions");
    }
    const Target *builtin = target_builtin(name);
    reader->known_target = builtin != NULL;
    reader->pending = builtin ? *builtin : (Target){.name = name};
    reader->target_span = span;
    reader->settings = 0;
}

void set_target(Reader *reader, Str key, Span key_span, int64_t value, Span value_span) {
    int found = 0;
    while (found < KEYS && !str_equal(key, KEY_NAMES[found]))
        found++;
    if (found == KEYS) {
        Str hint = did_you_mean(reader, "", key, KEY_NAMES, KEYS);
        COMPLAIN(reader, key_span, "a target has no setting '%.*s'%.*s", STR_ARGS(key),
                 STR_ARGS(hint));
        return;
    }
    if (reader->settings & 1u << found)
        COMPLAIN(reader, key_span, "'%.*s' is set twice", STR_ARGS(key));
    if (value > MOST[found])
        COMPLAIN(reader, value_span, "'%.*s' is at most %lld", STR_ARGS(key),
                 (long long)MOST[found]);
    else if (found == KEY_RATE && value == 0)
        COMPLAIN(reader, value_span, "'dma_rate' is at least 1");
    reader->settings |= 1u << found;
    reader->setting_spans[found] = value_span;
    *field(&reader->pending, found) = value;
}

/* A target that is not built in has no defaults. */
static void check_complete(Reader *reader) {
    if (reader->known_target || reader->settings == ALL_KEYS) return;
    Str missing = STR("");
    for (int key = 0; key < KEYS; key++)
        if (!(reader->settings & 1u << key))
            missing = str_format(&reader->scratch, "%.*s%s'%.*s'", STR_ARGS(missing),
                                 missing.length ? ", " : "", STR_ARGS(KEY_NAMES[key]));
    uint32_t count;
    const Str *names = target_names(&count);
    Str name = reader->pending.name;
    Str hint = did_you_mean(reader, "", name, names, count);
    COMPLAIN(reader, reader->target_span, "target '%.*s' is not built in and lacks %.*s%.*s",
             STR_ARGS(name), STR_ARGS(missing), STR_ARGS(hint));
}

void end_target(Reader *reader) {
    Target *target = &reader->pending;
    check_complete(reader);
    if (target->sb_reserved > target->sb_bytes && (reader->settings || reader->known_target)) {
        bool reserved = reader->settings & 1u << KEY_RESERVED;
        if (reserved || reader->settings & 1u << KEY_BYTES)
            COMPLAIN(reader, reader->setting_spans[reserved ? KEY_RESERVED : KEY_BYTES],
                     "%lld bytes are reserved of %lld", (long long)target->sb_reserved,
                     (long long)target->sb_bytes);
    }
    if (reader->extra_target) return;
    reader->module->target = *target;
    reader->module->has_target = true;
    reader->module->target_span = reader->target_span;
}
