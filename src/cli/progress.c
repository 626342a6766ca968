#include "cli/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 1000, NEXT_MS = 200, MOST_NAME = 40, MOST_LINE = 160 };

static bool can_draw(const CommandLine *line) {
    const char *terminal = getenv("TERM");
    return line->loudness != LOUD_QUIET && terminal && strcmp(terminal, "dumb") != 0 &&
           isatty(STDERR_FILENO);
}

/* A job in the background must not write over what the foreground shows. */
static bool in_foreground(void) {
    pid_t group = tcgetpgrp(STDERR_FILENO);
    return group == -1 || group == getpgrp();
}

static void put(const char *text) {
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* Whole characters of UTF-8 only. */
static int shown_length(Str name) {
    uint32_t length = name.length < MOST_NAME ? name.length : MOST_NAME;
    while (length < name.length && length > 0 && (name.text[length] & 0xC0) == 0x80)
        length--;
    return (int)length;
}

/* The cursor stays at the start, so that whatever comes next stands there. */
static void draw(Progress *progress, int64_t seconds) {
    char text[MOST_LINE];
    unsigned done = atomic_load(&progress->done);
    if (progress->count == 1)
        snprintf(text, sizeof text, "\r\033[Ksballoc: %s @%.*s%s, %lld s\r", progress->what,
                 shown_length(progress->name), progress->name.text,
                 progress->name.length > MOST_NAME ? "..." : "", (long long)seconds);
    else
        snprintf(text, sizeof text, "\r\033[Ksballoc: %s, %u of %u functions done, %lld s\r",
                 progress->what, done, progress->count, (long long)seconds);
    put(text);
}

static struct timespec later(struct timespec start, int64_t ms) {
    int64_t ns = start.tv_nsec + ms % 1000 * 1000000;
    start.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    start.tv_nsec = (long)(ns % 1000000000);
    return start;
}

static void *run_thread(void *argument) {
    Progress *progress = argument;
    struct timespec start;
    bool drawn = false;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pthread_mutex_lock(&progress->mutex);
    for (int64_t ms = FIRST_MS; !progress->ended; ms += NEXT_MS) {
        struct timespec until = later(start, ms);
        int error = 0;
        while (!progress->ended && error != ETIMEDOUT)
            error = pthread_cond_timedwait(&progress->wake, &progress->mutex, &until);
        if (progress->ended || !in_foreground()) continue;
        draw(progress, ms / 1000);
        drawn = true;
    }
    pthread_mutex_unlock(&progress->mutex);
    if (drawn && in_foreground()) put("\r\033[K");
    return NULL;
}

/* Signals are for the main thread. */
static bool start_thread(Progress *progress) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&progress->thread, NULL, run_thread, progress);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static void free_sync(Progress *progress) {
    pthread_cond_destroy(&progress->wake);
    pthread_mutex_destroy(&progress->mutex);
}

void progress_begin(Progress *progress, const CommandLine *line, const char *what,
                    const Module *module) {
    *progress = (Progress){.what = what, .count = module->nfuncs};
    atomic_init(&progress->done, 0);
    if (module->nfuncs == 0 || !can_draw(line)) return;
    progress->name = module->funcs[0].name;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&progress->mutex, NULL);
    pthread_cond_init(&progress->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    progress->shown = start_thread(progress);
    if (!progress->shown) free_sync(progress);
}

void progress_step(Progress *progress) {
    atomic_fetch_add(&progress->done, 1);
}

void progress_end(Progress *progress) {
    if (!progress->shown) return;
    pthread_mutex_lock(&progress->mutex);
    progress->ended = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    free_sync(progress);
    progress->shown = false;
}
