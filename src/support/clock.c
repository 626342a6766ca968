#include "support/clock.h"

#include <time.h>

double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool clock_is_past(double deadline) {
    return deadline > 0 && clock_now() > deadline;
}
