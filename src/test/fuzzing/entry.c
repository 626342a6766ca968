/* What libFuzzer calls. SBALLOC_FUZZ names the target. */
#include "test/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    const char *name = getenv("SBALLOC_FUZZ");
    FuzzTarget *target = name ? fuzz_find(name) : NULL;
    if (!target) abort();
    target(bytes, count);
    return 0;
}
