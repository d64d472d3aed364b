/* SPDX-License-Identifier: MIT */
/* See preloaded.h. */
#define _GNU_SOURCE
#include "process/preloaded.h"

#include "process/classify.h"
#include "util/message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct qmpi_resident *residents; /* all are found before anybody looks */
static int resident_count;

static char *program_path(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return qmpi_copy_part(length > 0 ? path : "program", length > 0 ? (size_t)length : 7);
}

char *qmpi_resident_tool_name(const char *path)
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
    if (qmpi_is_self(&object))
        *behind = true;
    if (!qmpi_is_pmpi_tool(&object))
        return 0;
    residents = qmpi_grow(residents, resident_count, sizeof *residents);
    struct qmpi_resident *resident = &residents[resident_count++];
    *resident =
        (struct qmpi_resident){.object = object,
                               .program = !*object.name,
                               .in_front = !*behind,
                               .path = *object.name ? qmpi_copy(object.name) : program_path()};
    resident->object.name = resident->path;
    resident->name = qmpi_resident_tool_name(resident->path);
    qmpi_debug(QMPI_TOPIC_LOAD, "%s is a PMPI tool, %s libqmpi", resident->path,
               *behind ? "behind" : "in front of");
    return 0;
}

static void find(void)
{
    bool behind = false;
    dl_iterate_phdr(consider, &behind);
}

void qmpi_resident_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

int qmpi_resident_count(void)
{
    return resident_count;
}

struct qmpi_resident *qmpi_resident_get(int index)
{
    return &residents[index];
}

struct qmpi_resident *qmpi_resident_by_name(const char *name)
{
    for (int i = 0; i < resident_count; i++) {
        const char *slash = strrchr(residents[i].path, '/');
        const char *soname = qmpi_elf_soname(&residents[i].object.image);
        if (!strcmp(residents[i].name, name) ||
            !strcmp(slash ? slash + 1 : residents[i].path, name) ||
            (soname && !strcmp(soname, name)))
            return &residents[i];
    }
    return NULL;
}

static bool same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

struct qmpi_resident *qmpi_resident_by_file(const char *path)
{
    for (int i = 0; i < resident_count; i++) {
        if (same_file(residents[i].path, path))
            return &residents[i];
    }
    return NULL;
}

struct qmpi_resident *qmpi_resident_in_front(const char *function)
{
    struct qmpi_resident *last = NULL;
    qmpi_resident_find();
    for (int i = 0; i < resident_count; i++) {
        if (residents[i].in_front && qmpi_elf_loaded_find(&residents[i].object, function))
            last = &residents[i];
    }
    return last;
}

struct qmpi_resident *qmpi_resident_holds(const void *address)
{
    qmpi_resident_find();
    for (int i = 0; i < resident_count; i++) {
        if (!residents[i].program && qmpi_elf_loaded_contains(&residents[i].object, address))
            return &residents[i];
    }
    return NULL;
}
