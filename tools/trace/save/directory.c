/* SPDX-License-Identifier: MIT */
/* See directory.h. */
#define _GNU_SOURCE
#include "tools/trace/save/directory.h"

#include "toolkit/toolkit.h"
#include "tools/trace/export/trace.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of an OTF2 archive, within the directory of the trace. */
static const char archive_directory[] = "traces";

static bool ends_with(const char *name, const char *suffix)
{
    const size_t length = strlen(name), end = strlen(suffix);
    return length > end && !strcmp(name + length - end, suffix);
}

/* Returns whether a name is rank-N.json. Earlier versions wrote such files. */
static bool is_json_of_rank(const char *name)
{
    const char *digits = strncmp(name, "rank-", 5) ? "" : name + 5;
    const size_t count = strspn(digits, "0123456789");
    return count && !strcmp(digits + count, ".json");
}

/* Returns whether a file with this name may belong to a trace. `in_events` says whether the file is
 * in the directory `traces` of an archive. */
static bool is_of_trace(const char *name, bool in_events)
{
    static const char *const names[] = {TRACE_OTF2_ANCHOR, "traces.def", "trace.perfetto-trace",
                                        "trace.json", NULL};
    if (in_events)
        return ends_with(name, ".evt") || ends_with(name, ".def");
    for (int i = 0; names[i]; i++) {
        if (!strcmp(name, names[i]))
            return true;
    }
    return is_json_of_rank(name) || ends_with(name, TRACE_FILE_SUFFIX) ||
           ends_with(name, ".perfetto-trace") || ends_with(name, ".marker") ||
           ends_with(name, ".thumb");
}

/* Returns the name of the next entry except . and .., or NULL if there is none. */
static const char *next_name(DIR *directory)
{
    const struct dirent *entry;
    do {
        entry = readdir(directory);
    } while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
    return entry ? entry->d_name : NULL;
}

static bool is_directory(int parent, const char *name)
{
    struct stat status;
    return !fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) && S_ISDIR(status.st_mode);
}

static DIR *open_in(int parent, const char *name)
{
    const int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!directory && descriptor >= 0)
        close(descriptor);
    return directory;
}

/* Returns whether there is an entry that does not belong to a trace, and copies the name of the
 * first one. */
static bool has_foreign_name(DIR *directory, bool in_events, char foreign[NAME_MAX + 1])
{
    const char *name;
    bool found = false;
    while (!found && (name = next_name(directory))) {
        const bool nested = is_directory(dirfd(directory), name);
        DIR *inner = NULL;
        if (nested && !in_events && !strcmp(name, archive_directory))
            inner = open_in(dirfd(directory), name);
        if (inner) {
            found = has_foreign_name(inner, true, foreign);
            closedir(inner);
        } else if (nested || !is_of_trace(name, in_events)) {
            found = true;
            stpcpy(foreign, name);
        }
    }
    rewinddir(directory);
    return found;
}

/* Returns whether the anchor file of an archive names qmpi as its creator, in a string that begins
 * with "qmpi ". */
static bool is_anchor_of_qmpi(int anchor)
{
    static const char creator[] = "\0" TRACE_OTF2_CREATOR " ";
    char bytes[4096];
    const ssize_t length = read(anchor, bytes, sizeof bytes);
    return length > 0 && memmem(bytes, (size_t)length, creator, sizeof creator - 1);
}

/* Returns whether another tool has written the files, and copies the name of one of them. Their
 * names do not tell, because all tools give the files of an archive in OTF2 the same names. But
 * each trace of qmpi has a file with the suffix .qtrace, and the anchor file of an archive names
 * qmpi. */
static bool is_trace_of_other_tool(DIR *directory, char foreign[NAME_MAX + 1])
{
    const char *name;
    bool is_own = false, has_files = false;
    while ((name = next_name(directory))) {
        is_own = is_own || ends_with(name, TRACE_FILE_SUFFIX);
        if (!has_files)
            stpcpy(foreign, name);
        has_files = true;
    }
    rewinddir(directory);
    const int anchor =
        openat(dirfd(directory), TRACE_OTF2_ANCHOR, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (anchor >= 0) {
        is_own = is_anchor_of_qmpi(anchor);
        stpcpy(foreign, TRACE_OTF2_ANCHOR);
        close(anchor);
    }
    return has_files && !is_own;
}

static char *complain(const char *path, const char *reason)
{
    return qmpi_message("output=%s: %s\n"
                        "hint: give the directory of the trace another name, or move what is there",
                        path, reason);
}

static char *complain_about(const char *path, const char *foreign)
{
    return qmpi_message(
        "output=%s: this directory contains %.100s, which is not part of a trace of "
        "qmpi; it is left as it is\n"
        "hint: give the directory of the trace another name, or move what is there",
        path, foreign);
}

/* Returns the directory that contains the path. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static char *check_parent(const char *path)
{
    char *parent = parent_of(path), *problem = NULL;
    if (parent && access(parent, W_OK | X_OK))
        problem = qmpi_message("output=%s: cannot create this directory in %s: %s\n"
                               "hint: use output=PATH to name a directory that can be written",
                               path, parent, strerror(errno));
    free(parent);
    return problem;
}

char *directory_check(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno == ENOENT ? check_parent(path) : complain(path, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return complain(path, "this is not a directory");
    if (access(path, W_OK | X_OK))
        return complain(path, strerror(errno));
    DIR *directory = opendir(path);
    if (!directory)
        return complain(path, strerror(errno));
    char foreign[NAME_MAX + 1];
    char *problem = NULL;
    if (has_foreign_name(directory, false, foreign) || is_trace_of_other_tool(directory, foreign))
        problem = complain_about(path, foreign);
    closedir(directory);
    return problem;
}

/* Returns whether a process is writing one of the files. A process locks its file while it writes
 * the file. */
static bool is_in_use(DIR *directory)
{
    const char *name;
    bool found = false;
    while (!found && (name = next_name(directory))) {
        if (!ends_with(name, TRACE_FILE_SUFFIX))
            continue;
        const int descriptor = openat(dirfd(directory), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        found = descriptor >= 0 && flock(descriptor, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
        if (descriptor >= 0)
            close(descriptor);
    }
    rewinddir(directory);
    return found;
}

static void remove_files(DIR *directory, bool in_events)
{
    const char *name;
    while ((name = next_name(directory))) {
        if (!in_events && !strcmp(name, archive_directory) &&
            is_directory(dirfd(directory), name)) {
            DIR *inner = open_in(dirfd(directory), name);
            if (inner) {
                remove_files(inner, true);
                closedir(inner);
            }
            unlinkat(dirfd(directory), name, AT_REMOVEDIR);
        } else if (is_of_trace(name, in_events)) {
            unlinkat(dirfd(directory), name, 0);
        }
    }
}

/* Returns whether any file of a trace, in this directory or below it, was changed at a time for
 * which is_wanted returns true. */
static bool has_time(DIR *directory, bool in_events, bool (*is_wanted)(const struct timespec *))
{
    const char *name;
    struct stat status;
    bool found = false;
    while (!found && (name = next_name(directory))) {
        if (!in_events && !strcmp(name, archive_directory) &&
            is_directory(dirfd(directory), name)) {
            DIR *inner = open_in(dirfd(directory), name);
            found = inner && has_time(inner, true, is_wanted);
            if (inner)
                closedir(inner);
        } else if (is_of_trace(name, in_events)) {
            found = !fstatat(dirfd(directory), name, &status, 0) && is_wanted(&status.st_mtim);
        }
    }
    rewinddir(directory);
    return found;
}

bool directory_is_complete(const char *path)
{
    DIR *directory = opendir(path);
    const bool is_complete = directory && has_time(directory, false, tool_output_is_complete);
    if (directory)
        closedir(directory);
    return is_complete;
}

/* Locks the directory, examines it, and removes the files of an earlier run. */
static enum directory_state replace_trace(DIR *directory, int *lock)
{
    *lock = fcntl(dirfd(directory), F_DUPFD_CLOEXEC, 0);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return DIRECTORY_TAKEN;
    if (is_in_use(directory) || has_time(directory, false, tool_output_is_of_run))
        return DIRECTORY_TAKEN;
    remove_files(directory, false);
    return DIRECTORY_PREPARED;
}

enum directory_state directory_prepare(const char *path, int *lock, char **problem)
{
    enum directory_state state = DIRECTORY_FAILED;
    *lock = -1;
    *problem = NULL;
    if (mkdir(path, 0777) && errno != EEXIST)
        *problem = qmpi_message("cannot create the directory %s: %s\n"
                                "hint: use output=PATH to name a directory that can be written",
                                path, strerror(errno));
    else
        *problem = directory_check(path);
    DIR *directory = *problem ? NULL : opendir(path);
    if (!directory && !*problem)
        *problem = qmpi_message("cannot read the directory %s: %s\n"
                                "hint: use output=PATH to name a directory that can be read",
                                path, strerror(errno));
    if (directory) {
        state = replace_trace(directory, lock);
        closedir(directory);
    }
    if (state != DIRECTORY_PREPARED && *lock >= 0) {
        close(*lock);
        *lock = -1;
    }
    return state;
}

void directory_make(const char *path)
{
    mkdir(path, 0777);
}
