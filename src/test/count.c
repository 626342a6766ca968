#include "test/count.h"

#include <stdlib.h>

uint64_t test_count(void) {
    const char *text = getenv("SBALLOC_RANDOM");
    uint64_t count = text ? strtoull(text, NULL, 10) : 0;
    return count > 0 ? count : 100;
}
