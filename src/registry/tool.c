/* SPDX-License-Identifier: MIT */
/* See tool.h. */
#define _GNU_SOURCE
#include "registry/tool.h"

#include "config/config.h"
#include "elf/elf.h"
#include "process/process.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

QMPI_LOCK(tools_lock);
static struct qmpi_tool *first_tool, **last_link = &first_tool;
static struct qmpi_tool *refused; /* the owner of a name that a library could not register */
static int current_load;
static bool registration_has_ended;

static struct qmpi_tool *find_tool(const char *name)
{
    struct qmpi_tool *tool = first_tool;
    while (tool && strcmp(tool->name, name) != 0)
        tool = tool->next;
    return tool;
}

struct qmpi_tool *qmpi_tool_find(const char *name)
{
    pthread_mutex_lock(&tools_lock);
    struct qmpi_tool *tool = find_tool(name);
    pthread_mutex_unlock(&tools_lock);
    return tool;
}

/* ---- Tools of MPICH's variant that are not listed -------------------------------------------- */

/*
 * In MPICH, the registration of a tool fails if the stack does not list the tool. Tools for MPICH's
 * variant conclude from the error that they will not be called. For other tools, registration
 * succeeds, but a tool that is not listed is not initialized. Therefore, libqmpi must find out for
 * which variant the tool that registers is written.
 */

static void find_mpich_call(void *data, const struct qmpi_elf_relocation *relocation)
{
    bool *found = data;
    *found |= !strcmp(relocation->name, "QMPI_Register_function");
}

/* Searches relocations rather than symbols, because a program may export no symbols. */
static bool uses_mpich_convention(const void *code)
{
    struct qmpi_elf_loaded object;
    bool found = false;
    if (qmpi_elf_loaded_containing(code, &object))
        qmpi_elf_visit_relocations(&object, find_mpich_call, &found);
    return found;
}

static bool is_same_file(const char *entry, const char *path)
{
    struct stat one, other;
    const char *file_name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (!strchr(entry, '/')) /* a name, which start-up searches for in directories */
        return strstr(entry, ".so") && !strcmp(entry, file_name);
    return stat(entry, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static bool is_listed(const char *name, const char *path)
{
    struct qmpi_stack stack;
    bool found = false;
    qmpi_stack_read(&stack);
    for (int i = 0; i < stack.tools.count; i++) {
        const char *entry = stack.tools.entries[i].name;
        found |= entry && (!strcmp(entry, name) || is_same_file(entry, path));
    }
    qmpi_stack_free(&stack);
    return found;
}

/* Returns whether a tool that registers as `name` is of MPICH's variant and is not listed. `code`
 * is an address in its code; `path` is the file that contains it. */
static bool is_unlisted_mpich_tool(const char *name, const void *code, const char *path)
{
    return uses_mpich_convention(code) && !is_listed(name, path);
}

/* ---- Registering ----------------------------------------------------------------------------- */

/* Sets the library to the one that contains `init`. The return address of the registration is not
 * used, because it would be wrong after a tail call. */
static void set_library(struct qmpi_tool *tool)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((void *)(uintptr_t)tool->init, &info, (void **)&map, RTLD_DL_LINKMAP) && map)
        tool->library = map;
    tool->path = map && *map->l_name ? qmpi_copy(map->l_name) : qmpi_object_program_path();
}

int QMPI_Register_tool_name(const char *tool_name, void (*init)(int tool_id))
{
    if (!tool_name || !init || !*tool_name || strlen(tool_name) > 255 || strchr(tool_name, '/'))
        return MPI_ERR_ARG;
    int result = MPI_SUCCESS;
    pthread_mutex_lock(&tools_lock);
    struct qmpi_tool *taken = find_tool(tool_name);
    if (registration_has_ended) {
        result = MPI_ERR_OTHER;
    } else if (taken) {
        refused = taken;
        result = MPI_ERR_ARG;
    } else {
        struct qmpi_tool *tool = qmpi_allocate(1, sizeof *tool);
        tool->name = qmpi_copy(tool_name);
        tool->init = init;
        tool->load = current_load;
        set_library(tool);
        *last_link = tool;
        last_link = &tool->next;
        if (!current_load &&
            is_unlisted_mpich_tool(tool->name, (const void *)(uintptr_t)init, tool->path))
            result = MPI_ERR_OTHER; /* the tool stays in the list, because messages mention it */
    }
    pthread_mutex_unlock(&tools_lock);
    return result;
}

__typeof__(QMPI_Register_tool_name) qmpi_tool_register_name
    __attribute__((alias("QMPI_Register_tool_name")));

int QMPIX_Register_tool_info(const char *tool_name, const QMPIX_Tool_info *info)
{
    if (!tool_name || !info || info->size < offsetof(QMPIX_Tool_info, flags))
        return MPI_ERR_ARG;
    int result = MPI_SUCCESS;
    pthread_mutex_lock(&tools_lock);
    struct qmpi_tool *tool = find_tool(tool_name);
    if (!tool)
        result = MPI_ERR_ARG;
    else if (registration_has_ended)
        result = MPI_ERR_OTHER;
    else
        tool->info = info;
    pthread_mutex_unlock(&tools_lock);
    return result;
}

char *qmpi_tool_list_names(void)
{
    char *list = qmpi_copy("");
    pthread_mutex_lock(&tools_lock);
    for (struct qmpi_tool *tool = first_tool; tool; tool = tool->next) {
        char *longer = qmpi_format("%s%s%s", list, *list ? ", " : "", tool->name);
        free(list);
        list = longer;
    }
    pthread_mutex_unlock(&tools_lock);
    return list;
}

void qmpi_tool_end_registration(void)
{
    pthread_mutex_lock(&tools_lock);
    registration_has_ended = true;
    pthread_mutex_unlock(&tools_lock);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* Assigns the tools registered from now on to load number `load`. */
static void begin_load(int load)
{
    pthread_mutex_lock(&tools_lock);
    current_load = load;
    refused = NULL;
    pthread_mutex_unlock(&tools_lock);
}

/* Returns the first tool that was registered by the library with this link_map, or during the load
 * with this number; NULL if there is none. Sets `count` to the number of such tools. */
static struct qmpi_tool *find_registered_by(const void *library, int load, int *count)
{
    struct qmpi_tool *found = NULL;
    *count = 0;
    pthread_mutex_lock(&tools_lock);
    for (struct qmpi_tool *tool = first_tool; tool; tool = tool->next) {
        if ((library && tool->library == library) || tool->load == load) {
            found = found ? found : tool;
            ++*count;
        }
    }
    pthread_mutex_unlock(&tools_lock);
    return found;
}

static char *explain_nothing_registered(const char *path)
{
    if (refused)
        return qmpi_message(
            "%s registers a tool '%s', but %s has already registered a tool of this name\n"
            "hint: list only one of the two",
            path, refused->name, refused->path);
    return qmpi_message("%s registers no tool when it is loaded\n"
                        "hint: call QMPI_Register_tool_name from a constructor of the library",
                        path);
}

static char *explain_many_registered(const char *path, int count)
{
    char *registered = qmpi_tool_list_names();
    char *problem = qmpi_message("%s registers %d tools\n"
                                 "hint: preload it, and give the name of the tool in QMPI_TOOLS; "
                                 "the registered tools are %s",
                                 path, count, registered);
    free(registered);
    return problem;
}

struct qmpi_tool *qmpi_tool_load(const char *path, const char *name, bool passed_by, char **problem)
{
    static int loads;
    begin_load(++loads);
    /* If the loader finds the MPI library before libqmpi, RTLD_DEEPBIND keeps the tool from using
     * the QMPI functions of the MPI library. In other cases, it is not set, because it would hide
     * the program's copies of variables of the tool's library. */
    const bool defines_register = qmpi_mpi_library_symbol("QMPI_Register_tool_name") != NULL;
    const int deep = defines_register && passed_by ? RTLD_DEEPBIND : 0;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
    if (!handle) {
        *problem = qmpi_loadable_explain(path, dlerror(),
                                         "install its dependencies, or link it with them");
        return NULL;
    }
    struct link_map *map = NULL;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    int count;
    struct qmpi_tool *only = find_registered_by(map, loads, &count);
    struct qmpi_tool *tool = count > 1 ? qmpi_tool_find(name) : only;
    if (!tool)
        *problem = count ? explain_many_registered(path, count) : explain_nothing_registered(path);
    return tool;
}

/* ---- Questions of tools ---------------------------------------------------------------------- */

int QMPIX_Announced_count(int *count)
{
    if (!count)
        return MPI_ERR_ARG;
    int number = 0;
    pthread_mutex_lock(&tools_lock);
    for (struct qmpi_tool *tool = first_tool; tool; tool = tool->next)
        number++;
    pthread_mutex_unlock(&tools_lock);
    *count = number;
    return MPI_SUCCESS;
}

int QMPIX_Announced_get(int index, const char **name, const QMPIX_Tool_info **info)
{
    if (index < 0 || !name || !info)
        return MPI_ERR_ARG;
    pthread_mutex_lock(&tools_lock);
    struct qmpi_tool *tool = first_tool;
    while (tool && index--)
        tool = tool->next;
    pthread_mutex_unlock(&tools_lock);
    if (!tool)
        return MPI_ERR_ARG;
    *name = tool->name;
    *info = tool->info;
    return MPI_SUCCESS;
}

/* ---- The version ----------------------------------------------------------------------------- */

int QMPIX_Get_version(int *major, int *minor, int *patch)
{
    if (!major || !minor || !patch)
        return MPI_ERR_ARG;
    *major = QMPIX_VERSION_MAJOR;
    *minor = QMPIX_VERSION_MINOR;
    *patch = QMPIX_VERSION_PATCH;
    return MPI_SUCCESS;
}
