/* SPDX-License-Identifier: MIT */
/* See modules.h. */
#define _GNU_SOURCE
#include "symbols/modules.h"

#include "toolkit/toolkit.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name is the loader's, made absolute; the path is what it leads to, found when it is asked
 * for.
 */
struct module {
    uint64_t begin, end;
    const char *name;
    _Atomic(char *) path;
    struct module *next;
};

/* The last one seen first: where one was unloaded another may lie in its place. Only added to. */
static _Atomic(struct module *) modules;

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

static struct module *known(uint64_t address)
{
    struct module *module = atomic_load(&modules);
    while (module && (address < module->begin || address >= module->end))
        module = module->next;
    return module;
}

/* The program may go to another directory before the path is asked for. */
static const char *intern_name(const char *name)
{
    const size_t length = strlen(name) + 1, room = *name == '/' ? 0 : PATH_MAX;
    char *copy = tool_memory_take(room + length);
    if (!copy)
        return NULL;
    const bool has_folder = room && getcwd(copy, room);
    const size_t at = has_folder ? strlen(copy) : 0;
    if (has_folder)
        copy[at] = '/';
    memcpy(copy + at + has_folder, name, length);
    return copy;
}

static bool is_same(const struct module *seen, const struct module *module, const char *name)
{
    const size_t length = strlen(seen->name), end = strlen(name);
    return seen->begin == module->begin && seen->end == module->end && length >= end &&
           !strcmp(seen->name + length - end, name);
}

void modules_note(uint64_t address)
{
    struct module found = {0}, *module;
    const char *name;
    if (!look_up(address, &found, &name))
        return;
    if (!*name)
        name = modules_program();
    const struct module *seen = known(address);
    if (seen && is_same(seen, &found, name))
        return;
    if (!(module = tool_memory_take(sizeof *module)) || !(name = intern_name(name)))
        return;
    module->begin = found.begin;
    module->end = found.end;
    module->name = name;
    module->next = atomic_load(&modules);
    while (!atomic_compare_exchange_weak(&modules, &module->next, module))
        continue;
}

static const char *path_of(struct module *module)
{
    char *path = atomic_load(&module->path), *found;
    if (path)
        return path;
    if (!(found = realpath(module->name, NULL)))
        return module->name;
    if (atomic_compare_exchange_strong(&module->path, &path, found))
        return found;
    free(found); /* another thread was faster */
    return path;
}

const char *modules_find(uint64_t address, uint64_t *offset)
{
    struct module *module = known(address);
    *offset = module ? address - module->begin : address;
    return module ? path_of(module) : "";
}

const char *modules_name(uint64_t address, uint64_t *offset)
{
    const struct module *module = known(address);
    *offset = module ? address - module->begin : address;
    return module ? module->name : "";
}
