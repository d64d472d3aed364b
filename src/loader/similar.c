/* SPDX-License-Identifier: MIT */
/* See similar.h. */
#define _GNU_SOURCE
#include "loader/similar.h"

#include "config/config.h"
#include "util/util.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct names {
    char **list;
    int count;
};

static void add(struct names *names, char *name)
{
    names->list = qmpi_grow(names->list, names->count, sizeof *names->list);
    names->list[names->count++] = name;
}

static void add_stack(void *data, const char *name, const char *path, int line)
{
    (void)path;
    (void)line;
    add(data, qmpi_copy(name));
}

/* The names by which the libraries in a directory can be given: libX.so and X.so are X. */
static void add_folder(struct names *names, const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        const char *name = entry->d_name + (strncmp(entry->d_name, "lib", 3) ? 0 : 3);
        const char *end = strstr(name, ".so");
        if (end && end > name && !end[3])
            add(names, qmpi_copy_part(name, (size_t)(end - name)));
    }
    if (directory)
        closedir(directory);
}

static void add_folders(struct names *names, const char *list)
{
    while (*list) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length)
            add_folder(names, folder);
        free(folder);
        list += length + (list[length] == ':');
    }
}

static const char *name_at(const void *data, int index)
{
    const struct names *names = data;
    return index < names->count ? names->list[index] : NULL;
}

char *qmpi_find_similar(const char *name, const char *installed, const char *abi)
{
    struct names names = {NULL, 0};
    char *list = qmpi_tool_path();
    qmpi_stack_each_name(add_stack, &names);
    add_folder(&names, installed);
    if (abi)
        add_folder(&names, abi);
    add_folders(&names, list);
    const char *similar = qmpi_suggest(name, name_at, &names);
    char *result = similar ? qmpi_copy(similar) : NULL;
    for (int i = 0; i < names.count; i++)
        free(names.list[i]);
    free(names.list);
    free(list);
    return result;
}
