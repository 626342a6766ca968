#define _XOPEN_SOURCE 700 /* realpath */

#include "support/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char TEMPORARY_NAME[] = ".sballoc-XXXXXX";

/* The name of a temporary file in the directory of `target`, for mkstemp. */
static char *temporary_beside(Arena *arena, const char *target) {
    const char *slash = strrchr(target, '/');
    size_t directory = slash ? (size_t)(slash - target) + 1 : 0;
    char *name = arena_raw(arena, directory + sizeof TEMPORARY_NAME, 1);
    memcpy(name, target, directory);
    memcpy(name + directory, TEMPORARY_NAME, sizeof TEMPORARY_NAME);
    return name;
}

/* The mode that open() would give to a new file. */
static mode_t new_file_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Makes the temporary file. `old` is the file that it will take the place of, or NULL. */
static bool open_beside(OutputFile *output, Arena *arena, const struct stat *old) {
    output->temporary = temporary_beside(arena, output->target);
    output->file = mkstemp(output->temporary);
    if (output->file < 0) {
        output->temporary = NULL;
        return false;
    }
    /* Only root can give a file away; without that the new file is the user's. */
    if (old && (old->st_uid != geteuid() || old->st_gid != getegid()) &&
        fchown(output->file, old->st_uid, old->st_gid) != 0)
        errno = 0;
    if (fchmod(output->file, old ? old->st_mode & 07777 : new_file_mode()) == 0) return true;
    output_discard(output);
    return false;
}

static bool open_through(OutputFile *output, const char *path) {
    output->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    return output->file >= 0;
}

static bool open_new(OutputFile *output, Arena *arena, const char *path) {
    struct stat link;
    if (lstat(path, &link) == 0) return open_through(output, path); /* a dangling link */
    output->target = arena_copy(arena, path, strlen(path));
    return open_beside(output, arena, NULL);
}

static bool open_old(OutputFile *output, Arena *arena, const char *path, const struct stat *old) {
    if (!S_ISREG(old->st_mode)) return open_through(output, path);
    if (access(path, W_OK) != 0) return false;
    char *real = realpath(path, NULL);
    if (!real) return false;
    output->target = arena_copy(arena, real, strlen(real));
    free(real);
    return open_beside(output, arena, old);
}

static bool is_standard_output(const struct stat *info) {
    struct stat standard;
    return fstat(STDOUT_FILENO, &standard) == 0 && standard.st_dev == info->st_dev &&
           standard.st_ino == info->st_ino;
}

bool output_open(OutputFile *output, Arena *arena, const char *path) {
    struct stat info;
    *output = (OutputFile){.path = path, .file = -1};
    bool opened = true;
    if (!path || strcmp(path, "-") == 0) {
        output->path = "<stdout>";
        output->file = STDOUT_FILENO;
    } else if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            errno = EISDIR;
            return false;
        }
        if (is_standard_output(&info))
            output->file = STDOUT_FILENO;
        else
            opened = open_old(output, arena, path, &info);
    } else {
        opened = errno == ENOENT && open_new(output, arena, path);
    }
    if (opened) writer_to_file(&output->writer, output->file);
    return opened;
}

bool output_close(OutputFile *output) {
    bool written = writer_flush(&output->writer);
    int error = output->writer.error;
    writer_free(&output->writer);
    if (close(output->file) != 0 && written) {
        written = false;
        error = errno;
    }
    output->file = -1;
    if (written) return true;
    output_discard(output);
    errno = error;
    return false;
}

bool output_commit(OutputFile *output) {
    if (!output->temporary) return true;
    if (rename(output->temporary, output->target) == 0) {
        output->temporary = NULL;
        return true;
    }
    int error = errno;
    output_discard(output);
    errno = error;
    return false;
}

void output_discard(OutputFile *output) {
    if (output->file >= 0) {
        writer_free(&output->writer);
        if (output->file != STDOUT_FILENO) close(output->file);
        output->file = -1;
    }
    if (output->temporary) unlink(output->temporary);
    output->temporary = NULL;
}
