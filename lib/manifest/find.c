/* SPDX-License-Identifier: MIT */
/* Where the manifest of a library is: see manifest.h. */
#define _GNU_SOURCE
#include "manifest/manifest.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MAX_READ = 1 << 20 };

char *manifest_tool_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    const char *start = strncmp(file, "lib", 3) ? file : file + 3;
    const char *end = strstr(start, ".so");
    return end && end > start ? qmpi_copy_part(start, (size_t)(end - start)) : qmpi_copy(file);
}

static const char too_large[] = "larger than a megabyte";

/* Returns NULL, or the reason why the file cannot be read whole. Pipes are not waited for. */
static const char *read_all(int descriptor, char *text, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "not a regular file";
    for (;;) {
        const ssize_t got = read(descriptor, text + *size, SIZE_MAX_READ + 1 - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        *size += (size_t)got;
        if (got == 0)
            return NULL;
        if (*size > SIZE_MAX_READ)
            return too_large;
    }
}

/* False: there is no such file. */
static bool try_file(const char *path, const char *name, struct manifest **manifest, char **problem)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
        return false;
    char *text = qmpi_allocate(SIZE_MAX_READ + 1, 1);
    size_t size = 0;
    const char *reason = descriptor < 0 ? strerror(errno) : read_all(descriptor, text, &size);
    if (descriptor >= 0)
        close(descriptor);
    if (reason == too_large && !manifest_is_meant(text, size))
        ; /* for example what a tool of this name has written */
    else if (reason)
        *problem = qmpi_message("%s: this manifest cannot be read: %s\n"
                                "hint: correct this file, or remove it",
                                path, reason);
    else
        *manifest = manifest_parse(text, size, path, name, problem);
    free(text);
    return *manifest || *problem;
}

static bool try_folder(const char *folder, size_t length, const char *library,
                       struct manifest **manifest, char **problem)
{
    char *name = manifest_tool_name(library);
    char *path = qmpi_format("%.*s/%s.json", (int)length, folder, name);
    const bool found = try_file(path, name, manifest, problem);
    free(path);
    free(name);
    return found;
}

/* In the directory of the library's path. */
static bool try_beside(const char *library, struct manifest **manifest, char **problem)
{
    const char *slash = strrchr(library, '/');
    return slash ? try_folder(library, (size_t)(slash - library), library, manifest, problem)
                 : try_folder(".", 1, library, manifest, problem);
}

struct manifest *manifest_find(const char *path, const char *const *folders, char **problem)
{
    struct manifest *manifest = NULL;
    *problem = NULL;
    char *real = realpath(path, NULL);
    bool found = try_beside(path, &manifest, problem) ||
                 (real && strcmp(real, path) != 0 && try_beside(real, &manifest, problem));
    free(real);
    for (; !found && *folders; folders++)
        found = try_folder(*folders, strlen(*folders), path, &manifest, problem);
    return manifest;
}
