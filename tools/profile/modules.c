/* SPDX-License-Identifier: MIT */
/* See modules.h. */
#define _GNU_SOURCE
#include "modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
    uint64_t begin, end;
    char *path;
    struct module *next;
};

/* The last one seen first: where one was unloaded another may lie in its place. Only added to. */
static struct module *modules;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *modules_program(void)
{
    static char path[PATH_MAX];
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    if (!path[0] && !pthread_mutex_trylock(&once)) {
        if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
            path[0] = '\0';
        pthread_mutex_unlock(&once);
    }
    return path;
}

/* The loader's own look-up, without its lock where it offers that: a thread in dlopen may wait for
 * this one. */
static bool look_up(uint64_t address, struct module *module, const char **name)
{
    void *const place = (void *)(uintptr_t)address;
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
    struct dl_find_object found;
    if (_dl_find_object(place, &found) || !found.dlfo_link_map)
        return false;
    module->begin = (uintptr_t)found.dlfo_map_start;
    module->end = (uintptr_t)found.dlfo_map_end;
    *name = found.dlfo_link_map->l_name;
#else
    Dl_info info;
    if (!dladdr(place, &info) || !info.dli_fbase)
        return false;
    module->begin = (uintptr_t)info.dli_fbase;
    module->end = address + 1;
    *name = info.dli_fname;
#endif
    return true;
}

static const struct module *known(uint64_t address)
{
    const struct module *module = __atomic_load_n(&modules, __ATOMIC_ACQUIRE);
    while (module && (address < module->begin || address >= module->end))
        module = module->next;
    return module;
}

void modules_note(uint64_t address)
{
    struct module module = {0};
    const char *name;
    if (!look_up(address, &module, &name))
        return;
    const struct module *seen = known(address);
    if (!*name)
        name = modules_program();
    char *path = realpath(name, NULL);
    if (!path)
        path = strdup(name);
    struct module *copy = path ? malloc(sizeof *copy) : NULL;
    if (!copy || (seen && seen->begin == module.begin && seen->end == module.end &&
                  !strcmp(seen->path, path))) {
        free(copy);
        free(path);
        return;
    }
    *copy = module;
    copy->path = path;
    pthread_mutex_lock(&lock);
    copy->next = modules;
    __atomic_store_n(&modules, copy, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

const char *modules_find(uint64_t address, uint64_t *offset)
{
    const struct module *module = known(address);
    *offset = module ? address - module->begin : address;
    return module ? module->path : "";
}
