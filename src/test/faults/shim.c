/* Makes calls of the system fail: preloaded (LD_PRELOAD) into a program by scripts/test/faults.
 * glibc only.
 *
 * SBALLOC_FAULT=KIND:N fails call N (from 1) of a kind: open, read, write, close, rename, link;
 * memory fails call N and all after it. interrupt:N interrupts call N of read() and write(),
 * short:N lets call N of these move one byte, and signal:N sends SIGTERM to the process before call
 * N of any but memory. SBALLOC_FAULT_COUNTS=FILE gets lines `KIND CALLS` when the program ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

typedef enum { MEMORY, OPEN, READ, WRITE, CLOSE, RENAME, LINK, KINDS } FaultKind;
enum { INTERRUPT = KINDS, SHORT, SIGNAL };

static const char *const NAMES[] = {"memory", "open", "read",      "write", "close",
                                    "rename", "link", "interrupt", "short", "signal"};

static atomic_ulong calls[KINDS], moved, all;
static int wanted = -1;
static unsigned long at;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("SBALLOC_FAULT");
    const char *colon = fault ? strchr(fault, ':') : NULL;
    if (!colon) return;
    for (int kind = 0; kind <= SIGNAL; kind++)
        if (strlen(NAMES[kind]) == (size_t)(colon - fault) &&
            strncmp(NAMES[kind], fault, (size_t)(colon - fault)) == 0)
            wanted = kind;
    at = strtoul(colon + 1, NULL, 10);
}

/* Not by the functions below, which count. */
__attribute__((destructor)) static void end(void) {
    const char *path = getenv("SBALLOC_FAULT_COUNTS");
    if (!path) return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int kind = 0; kind <= SIGNAL; kind++) {
        unsigned long count = kind < KINDS ? calls[kind] : kind == SIGNAL ? all : moved;
        char line[64];
        int length = snprintf(line, sizeof line, "%s %lu\n", NAMES[kind], count);
        syscall(SYS_write, file, line, (size_t)length);
    }
    syscall(SYS_close, file);
}

static bool memory_fails(void) {
    unsigned long call = atomic_fetch_add(&calls[MEMORY], 1) + 1;
    if (wanted != MEMORY || call < at) return false;
    errno = ENOMEM;
    return true;
}

/* True if this call shall fail: errno is set. */
static bool fails(FaultKind kind, int error) {
    unsigned long call = atomic_fetch_add(&calls[kind], 1) + 1;
    if (atomic_fetch_add(&all, 1) + 1 == at && wanted == SIGNAL) kill(getpid(), SIGTERM);
    if (wanted != (int)kind || call != at) return false;
    errno = error;
    return true;
}

/* What read() and write() shall move of `size`; 0: interrupted. */
static size_t moves(size_t size) {
    if (atomic_fetch_add(&moved, 1) + 1 != at) return size;
    if (wanted == INTERRUPT) errno = EINTR;
    return wanted == INTERRUPT ? 0 : wanted == SHORT && size > 1 ? 1 : size;
}

void *malloc(size_t size) {
    return memory_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return memory_fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return memory_fails() ? NULL : __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (memory_fails()) return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (fails(OPEN, EMFILE)) return -1;
    return REAL("open", int (*)(const char *, int, ...))(path, flags, mode);
}

int mkstemp(char *path) {
    if (fails(OPEN, EACCES)) return -1;
    return REAL("mkstemp", int (*)(char *))(path);
}

ssize_t read(int file, void *buffer, size_t size) {
    if (fails(READ, EIO)) return -1;
    if (size > 0 && (size = moves(size)) == 0) return -1;
    return REAL("read", ssize_t(*)(int, void *, size_t))(file, buffer, size);
}

ssize_t write(int file, const void *buffer, size_t size) {
    if (fails(WRITE, ENOSPC)) return -1;
    if (size > 0 && (size = moves(size)) == 0) return -1;
    return REAL("write", ssize_t(*)(int, const void *, size_t))(file, buffer, size);
}

/* A descriptor whose close() fails is closed. */
int close(int file) {
    bool failed = fails(CLOSE, EIO);
    int status = REAL("close", int (*)(int))(file);
    if (!failed) return status;
    errno = EIO;
    return -1;
}

int rename(const char *from, const char *to) {
    if (fails(RENAME, EACCES)) return -1;
    return REAL("rename", int (*)(const char *, const char *))(from, to);
}

int link(const char *from, const char *to) {
    if (fails(LINK, EPERM)) return -1;
    return REAL("link", int (*)(const char *, const char *))(from, to);
}
