/* SPDX-License-Identifier: MIT */
/* See find.h. */
#define _GNU_SOURCE
#include "loader/find.h"

#include "config/config.h"
#include "elf/elf.h"
#include "generate/build.h"
#include "loader/similar.h"
#include "util/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The places tried so far, with the reason for each, one line a place. */
struct places {
    char *text;
    int count;
};

static void note_place(struct places *places, const char *path, const char *reason)
{
    enum { SHOWN = 40 };
    if (++places->count <= SHOWN) {
        char *shown = qmpi_shorten(path);
        char *longer = qmpi_message("%-s  %s: %s\n", places->text, shown, reason);
        free(shown);
        free(places->text);
        places->text = longer;
    }
}

/* An existing file is used even if it is invalid: ignoring it would be surprising. */
static bool try_path(const char *path, struct places *places)
{
    if (access(path, F_OK) == 0)
        return true;
    note_place(places, path, strerror(errno));
    return false;
}

static char *try_in_folder(const char *folder, size_t length, const char *name, bool as_written,
                           struct places *places)
{
    static const char *const patterns[] = {"%.*s/%s.so", "%.*s/lib%s.so"};
    for (int i = 0; i < (as_written ? 1 : 2); i++) {
        char *path = as_written ? qmpi_format("%.*s/%s", (int)length, folder, name)
                     : i == 0   ? qmpi_format(patterns[0], (int)length, folder, name)
                                : qmpi_format(patterns[1], (int)length, folder, name);
        if (try_path(path, places))
            return path;
        free(path);
    }
    return NULL;
}

/* Where the dynamic loader looks: already loaded, LD_LIBRARY_PATH, its cache, its own directories.
 */
static char *try_loader(const char *name, struct places *places)
{
    char *path = ld_cache_find(name);
    void *self = dlopen(NULL, RTLD_LAZY);
    Dl_serinfo head, *folders = NULL;
    if (self && dlinfo(self, RTLD_DI_SERINFOSIZE, &head) == 0) {
        folders = qmpi_allocate(1, head.dls_size);
        folders->dls_size = head.dls_size;
        folders->dls_cnt = head.dls_cnt;
        if (dlinfo(self, RTLD_DI_SERINFO, folders) != 0)
            folders->dls_cnt = 0;
    }
    for (unsigned i = 0; folders && i < folders->dls_cnt; i++) {
        const char *folder = folders->dls_serpath[i].dls_name;
        char *there = try_in_folder(folder, strlen(folder), name, true, places);
        if (there) {
            free(path);
            path = there;
            break;
        }
    }
    free(folders);
    if (self)
        dlclose(self);
    if (!path)
        note_place(places, "the dynamic loader's cache", "not found");
    return path;
}

/* Tools that are compiled for the standard ABI are in a directory of their own, beside the other.
 */
static char *try_abi_folder(const char *installed, const char *name, bool as_written,
                            struct places *places)
{
    char *folder = qmpi_abi_folder(installed);
    char *path = folder ? try_in_folder(folder, strlen(folder), name, as_written, places) : NULL;
    free(folder);
    return path;
}

char *qmpi_abi_folder(const char *installed)
{
    static const char name[] = "qmpi-abi";
    const char *slash = strrchr(installed, '/');
    if (!strcmp(slash ? slash + 1 : installed, name))
        return NULL;
    return qmpi_format("%.*s%s", (int)(slash ? slash + 1 - installed : 0), installed, name);
}

/* A directory with the name of that of the installed tools is one of another installation. */
static char *try_beside(const char *folder, size_t length, const char *name, bool as_written,
                        struct places *places)
{
    static const char tools[] = "/" QMPI_TOOLS_FOLDER;
    const size_t end = sizeof tools - 1;
    if (length <= end || strncmp(folder + length - end, tools, end) != 0)
        return NULL;
    char *installed = qmpi_format("%.*s", (int)length, folder);
    char *path = try_abi_folder(installed, name, as_written, places);
    free(installed);
    return path;
}

static char *try_list(const char *list, const char *name, bool as_written, struct places *places)
{
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        char *path = length ? try_in_folder(list, length, name, as_written, places) : NULL;
        if (!path)
            path = try_beside(list, length, name, as_written, places);
        if (path)
            return path;
        list += length + (list[length] == ':');
    }
    return NULL;
}

static char *try_tool_path(const char *first, const char *name, bool as_written,
                           struct places *places)
{
    char *path = try_list(first, name, as_written, places);
    char *list = path ? NULL : qmpi_tool_path();
    if (list)
        path = try_list(list, name, as_written, places);
    free(list);
    return path;
}

/* A path without a slash is treated as a name: suggests the file in the current directory, or the
 * tool with a similar name. */
static char *hint_for_name(const char *name, const char *installed)
{
    static const char *const patterns[] = {"./%s", "./%s.so", "./lib%s.so"};
    for (int i = strstr(name, ".so") ? 0 : 1; i < 3; i++) {
        char *path = i == 0   ? qmpi_format(patterns[0], name)
                     : i == 1 ? qmpi_format(patterns[1], name)
                              : qmpi_format(patterns[2], name);
        if (access(path, R_OK) == 0) {
            char *hint = qmpi_format("write %s: only a name with a slash is a path", path);
            free(path);
            return hint;
        }
        free(path);
    }
    char *abi = qmpi_abi_folder(installed);
    char *similar = qmpi_find_similar(name, installed, abi);
    char *hint = qmpi_format("%s%s%s `qmpi list` lists installed tools; QMPI_TOOL_PATH can name "
                             "more directories",
                             similar ? "did you mean '" : "correct the name.",
                             similar ? similar : "", similar ? "'?" : "");
    free(similar);
    free(abi);
    return hint;
}

char *qmpi_find_library(const struct qmpi_entry *entry, const char *installed,
                        const char *registered, char **problem)
{
    const char *name = entry->name;
    struct places places = {qmpi_copy(""), 0};
    char *path = NULL;
    if (strchr(name, '/')) {
        if (try_path(name, &places))
            path = qmpi_copy(name);
    } else {
        const bool as_written = strstr(name, ".so") != NULL;
        path = try_tool_path(entry->tool_path, name, as_written, &places);
        if (!path)
            path = try_in_folder(installed, strlen(installed), name, as_written, &places);
        if (!path)
            path = try_abi_folder(installed, name, as_written, &places);
        if (!path && as_written)
            path = try_loader(name, &places);
    }
    if (path) {
        qmpi_debug(QMPI_TOPIC_FIND, "%s is %s", name, path);
    } else if (strchr(name, '/')) {
        *problem = qmpi_message("no such library\n%-shint: correct the path", places.text);
    } else {
        char *hint = hint_for_name(name, installed);
        *problem = qmpi_message("no such tool\n%s%s%-s%-shint: %s",
                                *registered ? "  registered tools: " : "", registered,
                                *registered ? "\n" : "", places.text, hint);
        free(hint);
    }
    free(places.text);
    return path;
}

char *qmpi_find_namesake(const char *stack, const char *installed)
{
    struct places places = {qmpi_copy(""), 0};
    char *path = try_tool_path(NULL, stack, false, &places);
    if (!path)
        path = try_in_folder(installed, strlen(installed), stack, false, &places);
    if (!path)
        path = try_abi_folder(installed, stack, false, &places);
    free(places.text);
    return path;
}
