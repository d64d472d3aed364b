/* SPDX-License-Identifier: MIT */
/* See preloaded.h. */
#define _GNU_SOURCE
#include "process/preloaded.h"

#include "elf/elf.h"
#include "process/classify.h"
#include "util/util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct qmpi_preloaded_tool *tools; /* all are found before anybody looks */
static int preloaded_count;

static char *program_path(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return qmpi_copy_part(length > 0 ? path : "program", length > 0 ? (size_t)length : 7);
}

char *qmpi_preloaded_tool_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!strncmp(name, "lib", 3) && strlen(name) > 3)
        name += 3;
    const char *end = strstr(name, ".so");
    return qmpi_copy_part(name, end && end != name ? (size_t)(end - name) : strlen(name));
}

static int consider(struct dl_phdr_info *info, size_t size, void *data)
{
    bool *behind = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    *behind = *behind || qmpi_is_self(&object);
    if (!qmpi_is_pmpi_tool(&object))
        return 0;
    tools = qmpi_grow(tools, preloaded_count, sizeof *tools);
    struct qmpi_preloaded_tool *preloaded = &tools[preloaded_count++];
    *preloaded = (struct qmpi_preloaded_tool){.object = object,
                                              .program = !*object.name,
                                              .in_front = !*behind,
                                              .path = *object.name ? qmpi_copy(object.name)
                                                                   : program_path()};
    preloaded->object.name = preloaded->path;
    preloaded->name = qmpi_preloaded_tool_name(preloaded->path);
    qmpi_debug(QMPI_TOPIC_LOAD, "%s is a PMPI tool, %s libqmpi", preloaded->path,
               *behind ? "behind" : "in front of");
    return 0;
}

static void find(void)
{
    bool behind = false;
    qmpi_elf_walk(consider, &behind);
}

void qmpi_preloaded_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

int qmpi_preloaded_count(void)
{
    return preloaded_count;
}

struct qmpi_preloaded_tool *qmpi_preloaded_get(int index)
{
    return &tools[index];
}

struct qmpi_preloaded_tool *qmpi_preloaded_by_name(const char *name)
{
    for (int i = 0; i < preloaded_count; i++) {
        const char *slash = strrchr(tools[i].path, '/');
        const char *soname = qmpi_elf_soname(&tools[i].object.image);
        if (!strcmp(tools[i].name, name) || !strcmp(slash ? slash + 1 : tools[i].path, name) ||
            (soname && !strcmp(soname, name)))
            return &tools[i];
    }
    return NULL;
}

static bool same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

struct qmpi_preloaded_tool *qmpi_preloaded_by_file(const char *path)
{
    for (int i = 0; i < preloaded_count; i++) {
        if (same_file(tools[i].path, path))
            return &tools[i];
    }
    return NULL;
}

struct qmpi_preloaded_tool *qmpi_preloaded_in_front(const char *function)
{
    struct qmpi_preloaded_tool *last = NULL;
    qmpi_preloaded_find();
    for (int i = 0; i < preloaded_count; i++) {
        if (tools[i].in_front && qmpi_elf_loaded_find(&tools[i].object, function))
            last = &tools[i];
    }
    return last;
}

struct qmpi_preloaded_tool *qmpi_preloaded_contains(const void *address)
{
    qmpi_preloaded_find();
    for (int i = 0; i < preloaded_count; i++) {
        if (!tools[i].program && qmpi_elf_loaded_contains(&tools[i].object, address))
            return &tools[i];
    }
    return NULL;
}
