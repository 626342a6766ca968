/* How large a State Buffer a random program gets, and where its fixed tensors lie. */
#ifndef TEST_ROOM_H
#define TEST_ROOM_H

#include "test/chance.h"
#include "test/random.h"

/* Gives each fixed sb tensor its places, apart from each other, half of them unaligned. */
void place_fixed(Func *func, Chance *chance, Arena *arena);

/* A target that leaves `room` (not ROOM_ANY). Fixed tensors must have their places. */
Target random_target(const Func *func, RandomRoom room, Chance *chance, Arena *scratch);

#endif
