#include "ir/names.h"

#include <string.h>

Str derived_name(const StrMap *taken, Str name, const char *mark, uint32_t *serial, Arena *arena) {
    Str candidate;
    do {
        candidate = str_format(arena, "%.*s%s%u", (int)name.length, name.text, mark, ++*serial);
    } while (strmap_get(taken, candidate) != UINT32_MAX);
    return candidate;
}

bool derived_stem(Str name, const char *mark, Str *stem) {
    uint32_t end = name.length, length = (uint32_t)strlen(mark);
    while (end > 0 && name.text[end - 1] >= '0' && name.text[end - 1] <= '9')
        end--;
    if (end == name.length || end < length) return false;
    *stem = (Str){name.text, end - length};
    return memcmp(name.text + end - length, mark, length) == 0;
}
