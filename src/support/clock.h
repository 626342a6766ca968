/* The time that passes. */
#ifndef SUPPORT_CLOCK_H
#define SUPPORT_CLOCK_H

#include <stdbool.h>

/* Seconds since some point in the past; never goes back. */
double clock_now(void);

/* True if a deadline, by clock_now(), has passed. 0: there is none, and no clock is looked at. */
bool clock_is_past(double deadline);

#endif
