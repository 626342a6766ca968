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

/* The name of a temporary file in the directory of `target`, for mkstemp, and room for one letter
 * more. */
static char *temporary_beside(Arena *arena, const char *target) {
    const char *slash = strrchr(target, '/');
    size_t directory = slash ? (size_t)(slash - target) + 1 : 0;
    char *name = arena_alloc(arena, directory + sizeof TEMPORARY_NAME + 1, 1);
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
    output->spare = temporary_beside(arena, output->target);
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

/* The name that a chain of symbolic links leads to; it need not be there. */
static const char *follow_links(Arena *arena, const char *path) {
    enum { MOST_LINKS = 40, LONGEST_NAME = 4096 };
    char next[LONGEST_NAME];
    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t length = readlink(path, next, sizeof next);
        if (length <= 0 || length == sizeof next) break;
        const char *slash = strrchr(path, '/');
        size_t directory = slash && next[0] != '/' ? (size_t)(slash - path) + 1 : 0;
        char *name = arena_raw(arena, directory + (size_t)length + 1, 1);
        memcpy(name, path, directory);
        memcpy(name + directory, next, (size_t)length);
        name[directory + (size_t)length] = '\0';
        path = name;
    }
    return path;
}

static bool open_new(OutputFile *output, Arena *arena, const char *path) {
    const char *name = follow_links(arena, path);
    if (!*name) return false; /* errno is ENOENT */
    output->target = arena_copy(arena, name, strlen(name));
    return open_beside(output, arena, NULL);
}

static bool open_old(OutputFile *output, Arena *arena, const char *path, const struct stat *old) {
    char *real = realpath(path, NULL);
    if (!real) return false;
    output->target = arena_copy(arena, real, strlen(real));
    free(real);
    return open_beside(output, arena, old);
}

static bool is_file_of(int descriptor, const struct stat *info) {
    struct stat standard;
    return fstat(descriptor, &standard) == 0 && standard.st_dev == info->st_dev &&
           standard.st_ino == info->st_ino;
}

static bool is_standard_path(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

static void hold(OutputFile *output, int file) {
    output->file = file;
    output->held = true;
}

/* Opens a path that has a file; its own descriptor where it is that of a standard stream. */
static bool open_existing(OutputFile *output, Arena *arena, const struct stat *info) {
    if (S_ISDIR(info->st_mode)) {
        errno = EISDIR;
        return false;
    }
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++) {
        if (!is_file_of(file, info)) continue;
        hold(output, file);
        return true;
    }
    if (access(output->path, W_OK) != 0) return false;
    if (S_ISREG(info->st_mode)) return open_old(output, arena, output->path, info);
    hold(output, -1);
    return true;
}

/* From where there is a temporary file nothing is allocated. */
static bool open_path(OutputFile *output, Arena *arena, const char *path) {
    struct stat info;
    if (is_standard_path(path)) {
        output->path = "<stdout>";
        output->file = STDOUT_FILENO;
    } else if (stat(path, &info) == 0) {
        if (!open_existing(output, arena, &info)) return false;
    } else if (errno != ENOENT || !open_new(output, arena, path)) {
        return false;
    }
    if (!output->held) writer_release(&output->writer, output->file);
    return true;
}

bool output_open(OutputFile *output, Arena *arena, const char *path) {
    *output = (OutputFile){.path = path, .file = -1};
    writer_to_memory(&output->writer);
    bool opened = open_path(output, arena, path);
    int error = errno;
    if (!opened) writer_free(&output->writer);
    errno = error;
    return opened;
}

void output_open_error(OutputFile *output) {
    *output = (OutputFile){.path = "<stderr>"};
    writer_to_memory(&output->writer);
    hold(output, STDERR_FILENO);
}

void output_hold(OutputFile *output) {
    if (output->temporary || output->held) return;
    writer_release(&output->writer, -1);
    hold(output, output->file);
}

/* Opens a device or pipe that was only remembered, and writes to it what was gathered. */
static bool let_go(OutputFile *output) {
    if (output->file < 0)
        output->file =
            open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    if (output->file >= 0) writer_release(&output->writer, output->file);
    return output->file >= 0;
}

/* Standard streams stay open for what is still to come; a copy's close tells what theirs would. */
static bool close_file(int file) {
    if (file < 0) return true;
    int closed = file > STDERR_FILENO ? file : dup(file);
    return closed >= 0 && close(closed) == 0;
}

bool output_close(OutputFile *output) {
    bool written = !output->held || let_go(output);
    int error = errno;
    if (written) {
        written = writer_flush(&output->writer);
        error = output->writer.error;
    }
    writer_free(&output->writer);
    if (!close_file(output->file) && written) {
        written = false;
        error = errno;
    }
    output->file = -1;
    output->held = false;
    if (written) return true;
    output_discard(output);
    errno = error;
    return false;
}

/* Gives the old file, if there is one, a second name. */
static OutputUndo keep_old(OutputFile *output) {
    size_t length = strlen(output->temporary);
    memcpy(output->spare, output->temporary, length);
    output->spare[length] = '~';
    if (link(output->target, output->spare) == 0) return UNDO_RESTORE;
    return errno == ENOENT ? UNDO_REMOVE : UNDO_NOTHING;
}

bool output_commit(OutputFile *output, bool undoable) {
    if (!output->temporary) return true;
    OutputUndo undo = undoable ? keep_old(output) : UNDO_NOTHING;
    if (rename(output->temporary, output->target) == 0) {
        output->temporary = NULL;
        output->undo = undo;
        return true;
    }
    int error = errno;
    if (undo == UNDO_RESTORE) unlink(output->spare);
    output_discard(output);
    errno = error;
    return false;
}

void output_settle(OutputFile *output) {
    if (output->undo == UNDO_RESTORE) unlink(output->spare);
    output->undo = UNDO_NOTHING;
}

void output_take_back(OutputFile *output) {
    if (output->temporary) unlink(output->temporary);
    if (output->undo == UNDO_REMOVE) unlink(output->target);
    if (output->undo == UNDO_RESTORE) (void)!rename(output->spare, output->target);
    output->temporary = NULL;
    output->undo = UNDO_NOTHING;
}

void output_discard(OutputFile *output) {
    if (output->file >= 0 || output->held) {
        writer_free(&output->writer);
        if (output->file > STDERR_FILENO) close(output->file);
        output->file = -1;
        output->held = false;
    }
    output_take_back(output);
}

/* The status of the directory in which `path` is or would be, and its name there. */
static bool find_directory(Arena *arena, const char *path, struct stat *directory, Str *name) {
    const char *slash = strrchr(path, '/');
    const char *parent = ".";
    if (slash) {
        size_t length = slash > path ? (size_t)(slash - path) : 1;
        parent = str_format(arena, "%.*s", (int)length, path).text;
    }
    *name = str_from(slash ? slash + 1 : path);
    return stat(parent, directory) == 0;
}

/* Names of files that are not there yet. */
static bool same_new_file(const char *one, const char *other) {
    Arena scratch;
    arena_init(&scratch);
    struct stat directories[2];
    Str names[2];
    bool same =
        find_directory(&scratch, follow_links(&scratch, one), &directories[0], &names[0]) &&
        find_directory(&scratch, follow_links(&scratch, other), &directories[1], &names[1]) &&
        directories[0].st_dev == directories[1].st_dev &&
        directories[0].st_ino == directories[1].st_ino && str_equal(names[0], names[1]);
    arena_free(&scratch);
    return same;
}

/* Devices, and the standard streams under their names there, take what several have to write. */
static bool is_device_path(const char *path) {
    return strncmp(path, "/dev/", 5) == 0;
}

bool output_same(const char *one, const char *other) {
    const char *paths[2] = {one, other};
    struct stat found[2];
    bool there[2];
    if (is_standard_path(one) && is_standard_path(other)) return true;
    for (int i = 0; i < 2; i++) {
        bool standard = is_standard_path(paths[i]);
        if (!standard && is_device_path(paths[i])) return false;
        there[i] = (standard ? fstat(STDOUT_FILENO, &found[i]) : stat(paths[i], &found[i])) == 0;
    }
    if (there[0] && there[1])
        return S_ISREG(found[0].st_mode) && found[0].st_dev == found[1].st_dev &&
               found[0].st_ino == found[1].st_ino;
    return !there[0] && !there[1] && same_new_file(one, other);
}
