/* The spelling of names: what needs no quotes, and how a name is written. */
#ifndef TEXT_WORD_H
#define TEXT_WORD_H

#include "support/arena.h"
#include "support/str.h"

/* True if `%text` or `@text` can be written without quotes. */
bool is_label(Str text);

/* True if `text` is a bare name, as an opcode is. */
bool is_word(Str text);

/* `sigil` and the name, quoted if it must be, for messages. In the arena. */
Str label_text(Arena *arena, char sigil, Str name);

#endif
