/* SPDX-License-Identifier: MIT */
/* See directory.h. */
#define _GNU_SOURCE
#include "save/directory.h"

#include "trace/trace.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of an OTF2 archive, in that of the trace. */
static const char events[] = "traces";

static bool ends_with(const char *name, const char *suffix)
{
    const size_t length = strlen(name), end = strlen(suffix);
    return length > end && !strcmp(name + length - end, suffix);
}

/* rank-N.json */
static bool is_json_of_rank(const char *name)
{
    const char *digits = strncmp(name, "rank-", 5) ? "" : name + 5;
    const size_t count = strspn(digits, "0123456789");
    return count && !strcmp(digits + count, ".json");
}

/* Files that a trace consists of: by their names. */
static bool is_of_trace(const char *name, bool in_events)
{
    static const char *const names[] = {"traces.otf2", "traces.def", "trace.perfetto-trace",
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

/* The next entry but . and ..; NULL: there is no more. */
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

/* Returns the first entry that no trace has, which the caller frees; NULL: there is none. */
static char *find_foreign(DIR *directory, bool in_events)
{
    const char *name;
    char *foreign = NULL;
    while (!foreign && (name = next_name(directory))) {
        const bool nested = is_directory(dirfd(directory), name);
        if (nested && !in_events && !strcmp(name, events)) {
            DIR *inner = open_in(dirfd(directory), name);
            foreign = inner ? find_foreign(inner, true) : strdup(name);
            if (inner)
                closedir(inner);
        } else if (nested || !is_of_trace(name, in_events)) {
            foreign = strdup(name);
        }
    }
    rewinddir(directory);
    return foreign;
}

static char *complain(const char *path, const char *reason)
{
    return qmpi_message("output=%s: %s\n"
                        "hint: give the directory of the trace another name, or move what is there",
                        path, reason);
}

static char *complain_of(const char *path, const char *foreign)
{
    return qmpi_message("output=%s: this directory contains %.100s, which is not part of a trace; "
                        "it is left as it is\n"
                        "hint: give the directory of the trace another name, or move what is there",
                        path, foreign);
}

/* The directory that contains the path. */
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
    char *foreign = directory ? find_foreign(directory, false) : NULL;
    char *problem = !directory ? complain(path, strerror(errno))
                    : foreign  ? complain_of(path, foreign)
                               : NULL;
    if (directory)
        closedir(directory);
    free(foreign);
    return problem;
}

/* Whether a process writes one of the files: the writer holds a lock on it. */
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
        if (!in_events && !strcmp(name, events) && is_directory(dirfd(directory), name)) {
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

static char *replace(const char *path, DIR *directory)
{
    if (is_in_use(directory))
        return qmpi_message(
            "output=%s: another program is writing its trace there, or the one that "
            "spawned this one\n"
            "hint: put %%p (the process id of rank 0) into output=",
            path);
    remove_files(directory, false);
    return NULL;
}

char *directory_prepare(const char *path)
{
    if (!mkdir(path, 0777))
        return NULL;
    if (errno != EEXIST)
        return qmpi_message("cannot create the directory %s: %s\n"
                            "hint: use output=PATH to name a directory that can be written",
                            path, strerror(errno));
    char *problem = directory_check(path);
    DIR *directory = problem ? NULL : opendir(path);
    if (directory) {
        problem = replace(path, directory);
        closedir(directory);
    }
    return problem;
}

void directory_make(const char *path)
{
    mkdir(path, 0777);
}
