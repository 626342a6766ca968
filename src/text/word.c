#include "text/word.h"

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_part(char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '$';
}

bool is_label(Str text) {
    for (uint32_t i = 0; i < text.length; i++)
        if (!is_word_part(text.text[i]) && text.text[i] != '.' && text.text[i] != '-') return false;
    return text.length > 0;
}

bool is_word(Str text) {
    if (text.length == 0 || !is_letter(text.text[0])) return false;
    for (uint32_t i = 1; i < text.length; i++) {
        bool dot = text.text[i] == '.' && i + 1 < text.length && text.text[i + 1] != '.';
        if (!dot && !is_word_part(text.text[i])) return false;
    }
    return true;
}

Str label_text(Arena *arena, char sigil, Str name) {
    bool quoted = !is_label(name);
    char *text = arena_raw(arena, 2 * (size_t)name.length + 3, 1);
    uint32_t length = 0;
    text[length++] = sigil;
    if (quoted) text[length++] = '"';
    for (uint32_t i = 0; i < name.length; i++) {
        if (name.text[i] == '"' || name.text[i] == '\\') text[length++] = '\\';
        text[length++] = name.text[i];
    }
    if (quoted) text[length++] = '"';
    return (Str){text, length};
}
