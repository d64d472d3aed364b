/* SPDX-License-Identifier: MIT */
/* See modules.h. */
#define _GNU_SOURCE
#include "sites/modules.h"

#include "elf/elf.h"
#include "sites/closing.h"
#include "util/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

/* The last one recorded first. Only added to. */
static _Atomic(struct qmpi_module *) modules;

/* The loader's own look-up, without its lock where it offers that: a thread in dlopen may wait for
 * this one. */
static bool look_up(uintptr_t address, struct qmpi_module *module)
{
    void *const place = (void *)address;
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
    struct dl_find_object found;
    if (_dl_find_object(place, &found) || !found.dlfo_link_map)
        return false;
    module->begin = (uintptr_t)found.dlfo_map_start;
    module->end = (uintptr_t)found.dlfo_map_end;
    module->map = found.dlfo_link_map;
    module->name = found.dlfo_link_map->l_name;
#else
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(place, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fbase || !map)
        return false;
    module->begin = (uintptr_t)info.dli_fbase;
    module->end = address + 1;
    module->map = map;
    module->name = map->l_name;
#endif
    return true;
}

static bool is_same(struct qmpi_module *known, const struct qmpi_module *module)
{
    return !atomic_load(&known->is_closed) && known->begin == module->begin &&
           known->end == module->end && known->map == module->map &&
           !strcmp(known->name, module->name);
}

static struct qmpi_module *find_recorded(uintptr_t address)
{
    struct qmpi_module *module = atomic_load(&modules);
    while (module && (address < module->begin || address >= module->end))
        module = module->next;
    return module;
}

static const char *intern(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = qmpi_arena_take(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* The C library's realpath uses malloc. */
static bool resolve(const char *name, char *path, size_t size)
{
    char link[32], *digit = link + sizeof link - 1;
    const int descriptor = open(name, O_PATH | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    *digit = '\0';
    for (int number = descriptor; number || !*digit; number /= 10)
        *--digit = (char)('0' + number % 10);
    static const char folder[] = "/proc/self/fd/";
    digit -= sizeof folder - 1;
    memcpy(digit, folder, sizeof folder - 1);
    const bool found = readlink(digit, path, size - 1) > 0;
    close(descriptor);
    return found;
}

/* A relative name is of a directory that the program may have left. The program has no name, and
 * /proc/self/exe is the loader if that was told to run it. The list of all mappings tells, which
 * begins with the program and is long. */
static const char *find_path(const struct qmpi_module *module)
{
    char *path = qmpi_arena_take(PATH_MAX); /* too large for a thread's smallest stack */
    const char *name = *module->name ? module->name : "/proc/self/exe";
    const bool found =
        path && (*module->name == '/' ? resolve(name, path, PATH_MAX)
                                      : qmpi_mapped_file(module->begin, path, PATH_MAX));
    return found ? path : name;
}

static const struct qmpi_module *add(struct qmpi_module found)
{
    struct qmpi_module *module = qmpi_arena_take(sizeof *module);
    const int error = errno;
    found.name = intern(found.name);
    found.path = found.name ? find_path(&found) : NULL;
    errno = error;
    if (!module || !found.path)
        return NULL;
    module->begin = found.begin;
    module->end = found.end;
    module->map = found.map;
    module->name = found.name;
    module->path = found.path;
    module->next = atomic_load(&modules);
    while (!atomic_compare_exchange_weak(&modules, &module->next, module))
        continue;
    return module;
}

const struct qmpi_module *qmpi_module_find(uintptr_t address)
{
    struct qmpi_module found = {.begin = 0}, *known = find_recorded(address);
    return !look_up(address, &found) || (known && is_same(known, &found)) ? known : add(found);
}

bool qmpi_module_is_open(const struct qmpi_module *module)
{
    return !atomic_load_explicit(&module->is_closed, memory_order_acquire) &&
           (!*module->name || qmpi_closing_is_seen());
}

/* The loader's list stands still meanwhile: another thread that is closing a library frees what
 * look_up finds of it. */
static int close_all(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    (void)data;
    for (struct qmpi_module *module = atomic_load(&modules); module; module = module->next) {
        struct qmpi_module now = {.begin = 0};
        if (!atomic_load(&module->is_closed) &&
            (!look_up(module->begin, &now) || !is_same(module, &now)))
            atomic_store(&module->is_closed, true);
    }
    return 1;
}

void qmpi_modules_close(void)
{
    if (atomic_load(&modules))
        qmpi_elf_walk(close_all, NULL);
}
