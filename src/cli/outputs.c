#include "cli/outputs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void take_back_all(void *context) {
    Outputs *outputs = context;
    for (int i = 0; i < outputs->count; i++)
        output_take_back(&outputs->files[i]);
}

/* ---- signals ---- */

/* Wakes the thread so that it ends. From outside it ends the program, as ever. */
enum { WAKE = SIGUSR1 };

/* Those of the signals that end a program and are not ignored, as under nohup. */
static void choose_signals(sigset_t *signals) {
    static const int ENDING[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigemptyset(signals);
    sigaddset(signals, WAKE);
    for (size_t i = 0; i < sizeof ENDING / sizeof *ENDING; i++) {
        struct sigaction action;
        if (sigaction(ENDING[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(signals, ENDING[i]);
    }
}

/* Ends the program as if the signal had not been waited for. Another that came with it, WAKE among
 * them, must not be what it ends of. */
static void die_of(int signal_number) {
    sigset_t alone;
    sigemptyset(&alone);
    sigaddset(&alone, signal_number);
    signal(signal_number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &alone, NULL);
    raise(signal_number);
    _exit(EXIT_BROKEN);
}

/* The mutex is never given back on the way out: nobody makes or renames a file any more. */
static void *watch(void *argument) {
    Outputs *outputs = argument;
    int signal_number;
    while (sigwait(&outputs->signals, &signal_number) != 0)
        continue;
    pthread_mutex_lock(&outputs->mutex);
    if (outputs->ended) {
        pthread_mutex_unlock(&outputs->mutex);
        if (signal_number == WAKE) return NULL;
    } else {
        take_back_all(outputs);
    }
    die_of(signal_number);
    return NULL;
}

/* Where no thread can be had, signals end the program at once. */
static void begin_watch(Outputs *outputs) {
    if (outputs->watched) return;
    choose_signals(&outputs->signals);
    pthread_mutex_init(&outputs->mutex, NULL);
    pthread_sigmask(SIG_BLOCK, &outputs->signals, &outputs->before);
    outputs->watched = pthread_create(&outputs->thread, NULL, watch, outputs) == 0;
    if (outputs->watched) return;
    pthread_sigmask(SIG_SETMASK, &outputs->before, NULL);
    pthread_mutex_destroy(&outputs->mutex);
}

static void lock(Outputs *outputs) {
    if (outputs->watched) pthread_mutex_lock(&outputs->mutex);
}

static void unlock(Outputs *outputs) {
    if (outputs->watched) pthread_mutex_unlock(&outputs->mutex);
}

static void end_watch(Outputs *outputs) {
    if (!outputs->watched) return;
    lock(outputs);
    outputs->ended = true;
    unlock(outputs);
    pthread_kill(outputs->thread, WAKE);
    pthread_join(outputs->thread, NULL);
    pthread_mutex_destroy(&outputs->mutex);
    outputs->watched = false;
    pthread_sigmask(SIG_SETMASK, &outputs->before, NULL);
}

/* ---- files ---- */

static void end(Outputs *outputs) {
    end_watch(outputs);
    on_exhaustion(NULL, NULL);
}

static void discard_all(Outputs *outputs) {
    int error = errno;
    lock(outputs);
    for (int i = 0; i < outputs->count; i++)
        output_discard(&outputs->files[i]);
    unlock(outputs);
    end(outputs);
    errno = error;
}

static ExitStatus fail_to_write(Outputs *outputs, const OutputFile *file) {
    discard_all(outputs);
    return fail(EXIT_BROKEN, "cannot write '%s': %s", file->path, strerror(errno));
}

/* A file that is there and may be written keeps its bytes until a new one beside it is whole. */
static ExitStatus fail_to_open(Outputs *outputs, const OutputFile *file) {
    int error = errno;
    bool beside = file->target && access(file->target, W_OK) == 0;
    errno = error;
    if (!beside) return fail_to_write(outputs, file);
    discard_all(outputs);
    return fail(EXIT_BROKEN, "cannot write '%s': no temporary file can be made beside it: %s",
                file->path, strerror(errno));
}

void outputs_begin(Outputs *outputs, Arena *arena, bool several) {
    *outputs = (Outputs){.arena = arena, .several = several};
    on_exhaustion(take_back_all, outputs);
}

Writer *outputs_open(Outputs *outputs, const char *path) {
    OutputFile *file = &outputs->files[outputs->count];
    if (path && strcmp(path, "-") != 0) begin_watch(outputs);
    lock(outputs);
    bool opened = output_open(file, outputs->arena, path);
    outputs->count += opened;
    unlock(outputs);
    if (!opened) {
        fail_to_open(outputs, file);
        return NULL;
    }
    if (outputs->several) output_hold(file);
    return &file->writer;
}

Writer *outputs_report(Outputs *outputs) {
    if (!outputs->report) {
        OutputFile *file = &outputs->files[outputs->count];
        lock(outputs);
        output_open_error(file);
        outputs->count++;
        unlock(outputs);
        outputs->report = file;
    }
    return &outputs->report->writer;
}

typedef enum { CLOSE_TEMPORARY, CLOSE_STREAM, COMMIT, CLOSE_REPORT, STEPS } FinishStep;

static bool is_last_to_commit(const Outputs *outputs, const OutputFile *file) {
    for (int i = 0; i < outputs->count; i++)
        if (outputs->files[i].temporary && &outputs->files[i] != file) return false;
    return !outputs->report;
}

static bool take_named_step(Outputs *outputs, FinishStep step, OutputFile *file) {
    bool good = true;
    lock(outputs);
    if (step == CLOSE_TEMPORARY) good = output_close(file);
    if (step == COMMIT) good = output_commit(file, !is_last_to_commit(outputs, file));
    unlock(outputs);
    return good;
}

/* The lock is not held where writing may block: the thread needs it. */
static bool take_step(Outputs *outputs, FinishStep step, OutputFile *file) {
    if (file->temporary) return take_named_step(outputs, step, file);
    bool due = file == outputs->report ? step == CLOSE_REPORT : step == CLOSE_STREAM;
    return !due || output_close(file);
}

ExitStatus outputs_finish(Outputs *outputs) {
    for (FinishStep step = CLOSE_TEMPORARY; step < STEPS; step++)
        for (int i = 0; i < outputs->count; i++) {
            int next = step == COMMIT ? outputs->count - 1 - i : i;
            if (!take_step(outputs, step, &outputs->files[next]))
                return fail_to_write(outputs, &outputs->files[next]);
        }
    lock(outputs);
    for (int i = 0; i < outputs->count; i++)
        output_settle(&outputs->files[i]);
    unlock(outputs);
    end(outputs);
    return EXIT_DONE;
}
