/* The time that passes. */
#ifndef SUPPORT_CLOCK_H
#define SUPPORT_CLOCK_H

/* Seconds since some point in the past; never goes back. */
double clock_now(void);

#endif
