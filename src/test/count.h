/* How many random programs a test runs. */
#ifndef TEST_COUNT_H
#define TEST_COUNT_H

#include <stdint.h>

/* SBALLOC_RANDOM of the environment where it is a number above 0, else 100. */
uint64_t test_count(void);

#endif
