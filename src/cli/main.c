#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <unistd.h>

#include "cli/run.h"

/* A standard stream that the caller closed would become the next file opened. Each gets a
 * descriptor on which its use fails. */
static void hold_standard_streams(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) == -1)
            (void)!open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* What is freed is soon asked for again: returning it to the system and clearing it anew takes
 * longer than many a pass. The largest pieces are returned, lest they leave holes in the heap. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

int main(int argc, char **argv) {
    CommandLine line;
    Arena arena; /* of the command line */
    hold_standard_streams();
    keep_freed_memory();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a failed write: exit 3 */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
    arena_init(&arena);
    bool good = command_line_read(&line, argc, argv, &arena);
    ExitStatus status = good ? run(&line) : EXIT_WRONG;
    arena_free(&arena);
    return (int)status;
}
