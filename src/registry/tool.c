/* SPDX-License-Identifier: MIT */
/* See tool.h. */
#define _GNU_SOURCE
#include "registry/tool.h"

#include "registry/tool_filter.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

QMPI_LOCK(lock);
static struct qmpi_tool *first, **last = &first;
static struct qmpi_tool *refused;
static int current_load;
static bool closed;

static struct qmpi_tool *find(const char *name)
{
    struct qmpi_tool *tool = first;
    while (tool && strcmp(tool->name, name) != 0)
        tool = tool->next;
    return tool;
}

struct qmpi_tool *qmpi_registration_find(const char *name)
{
    pthread_mutex_lock(&lock);
    struct qmpi_tool *tool = find(name);
    pthread_mutex_unlock(&lock);
    return tool;
}

static char *program_path(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? qmpi_copy_part(path, (size_t)length) : qmpi_copy("the program");
}

/* `init` tells the object: a return address would not, where a compiler made the call a jump. */
static void note_library(struct qmpi_tool *tool)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((void *)(uintptr_t)tool->init, &info, (void **)&map, RTLD_DL_LINKMAP) && map)
        tool->library = map;
    tool->path = map && *map->l_name ? qmpi_copy(map->l_name) : program_path();
}

int QMPI_Register_tool_name(const char *tool_name, void (*init)(int tool_id))
{
    if (!tool_name || !init || !*tool_name || strlen(tool_name) > 255 || strchr(tool_name, '/'))
        return MPI_ERR_ARG;
    int result = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    struct qmpi_tool *taken = find(tool_name);
    if (closed) {
        result = MPI_ERR_OTHER;
    } else if (taken) {
        refused = taken;
        result = MPI_ERR_ARG;
    } else {
        struct qmpi_tool *tool = qmpi_allocate(1, sizeof *tool);
        tool->name = qmpi_copy(tool_name);
        tool->init = init;
        tool->load = current_load;
        note_library(tool);
        *last = tool;
        last = &tool->next;
        if (!current_load &&
            qmpi_mpich_is_skipped(tool->name, (const void *)(uintptr_t)init, tool->path))
            result = MPI_ERR_OTHER; /* it is announced all the same: messages name it */
    }
    pthread_mutex_unlock(&lock);
    return result;
}

__typeof__(QMPI_Register_tool_name) qmpi_register_tool_name
    __attribute__((alias("QMPI_Register_tool_name")));

int QMPIX_Register_tool_info(const char *tool_name, const QMPIX_Tool_info *info)
{
    if (!tool_name || !info || info->size < offsetof(QMPIX_Tool_info, flags))
        return MPI_ERR_ARG;
    int result = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    struct qmpi_tool *tool = find(tool_name);
    if (!tool)
        result = MPI_ERR_ARG;
    else if (closed)
        result = MPI_ERR_OTHER;
    else
        tool->info = info;
    pthread_mutex_unlock(&lock);
    return result;
}

int QMPIX_Announced_count(int *count)
{
    if (!count)
        return MPI_ERR_ARG;
    int number = 0;
    pthread_mutex_lock(&lock);
    for (struct qmpi_tool *tool = first; tool; tool = tool->next)
        number++;
    pthread_mutex_unlock(&lock);
    *count = number;
    return MPI_SUCCESS;
}

int QMPIX_Announced_get(int index, const char **name, const QMPIX_Tool_info **info)
{
    if (index < 0 || !name || !info)
        return MPI_ERR_ARG;
    pthread_mutex_lock(&lock);
    struct qmpi_tool *tool = first;
    while (tool && index--)
        tool = tool->next;
    pthread_mutex_unlock(&lock);
    if (!tool)
        return MPI_ERR_ARG;
    *name = tool->name;
    *info = tool->info;
    return MPI_SUCCESS;
}

struct qmpi_tool *qmpi_registration_of_library(const void *library, int load, int *count)
{
    struct qmpi_tool *found = NULL;
    *count = 0;
    pthread_mutex_lock(&lock);
    for (struct qmpi_tool *tool = first; tool; tool = tool->next) {
        if ((library && tool->library == library) || tool->load == load) {
            found = found ? found : tool;
            ++*count;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void qmpi_registration_begin_load(int load)
{
    pthread_mutex_lock(&lock);
    current_load = load;
    refused = NULL;
    pthread_mutex_unlock(&lock);
}

struct qmpi_tool *qmpi_registration_refused(void)
{
    return refused;
}

char *qmpi_registration_list(void)
{
    char *list = qmpi_copy("");
    pthread_mutex_lock(&lock);
    for (struct qmpi_tool *tool = first; tool; tool = tool->next) {
        char *longer = qmpi_format("%s%s%s", list, *list ? ", " : "", tool->name);
        free(list);
        list = longer;
    }
    pthread_mutex_unlock(&lock);
    return list;
}

void qmpi_registration_close(void)
{
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_mutex_unlock(&lock);
}
