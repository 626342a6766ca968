/* What is tried with any bytes at all: `make fuzz` makes them, and `fuzz TARGET FILE...` runs them
 * again. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each ends the program, by abort(), where something is wrong. */
typedef void FuzzTarget(const uint8_t *bytes, size_t count);

/* A text: what can be read is printed, and read and printed again with the same bytes, as text and
 * as JSON; compared with itself it has not changed. */
void fuzz_text(const uint8_t *bytes, size_t count);

/* The same for JSON. */
void fuzz_json(const uint8_t *bytes, size_t count);

/* A random program that is valid by construction, and options: the bytes choose. The referee judges
 * the result, and that of a second run that stays close to the first; both are read again as above.
 */
void fuzz_program(const uint8_t *bytes, size_t count);

/* The target of a name, or NULL. */
FuzzTarget *fuzz_find(const char *name);

#endif
