/* SPDX-License-Identifier: MIT */
/* See modules.h. */
#define _GNU_SOURCE
#include "sites/modules.h"

#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "pmpi/pmpi.h"
#include "redirect/redirect.h"
#include "registry/registry.h"
#include "sites/find_object.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* A list that starts with the latest module. Elements are only added, once they are complete. */
static _Atomic(struct qmpi_module *) modules;

/* Finds the module of an address, if possible by a function of the loader that takes no lock,
 * because a thread in dlopen may be waiting for this one. */
static bool look_up_module(uintptr_t address, struct qmpi_module *module)
{
    void *const place = (void *)address;
    if (qmpi_find_object) {
        struct qmpi_find_object_result found;
        if (qmpi_find_object(place, &found) || !found.link_map)
            return false;
        module->begin = (uintptr_t)found.map_start;
        module->end = (uintptr_t)found.map_end;
        module->map = found.link_map;
        module->name = found.link_map->l_name;
    } else {
        Dl_info info;
        struct link_map *map = NULL;
        if (!dladdr1(place, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fbase || !map)
            return false;
        module->begin = (uintptr_t)info.dli_fbase;
        module->end = address + 1; /* the end is not known */
        module->map = map;
        module->name = map->l_name;
    }
    return true;
}

static bool is_same_module(struct qmpi_module *known, const struct qmpi_module *module)
{
    return !atomic_load(&known->is_closed) && known->begin == module->begin &&
           (known->end == module->end || !qmpi_find_object) && known->map == module->map &&
           !strcmp(known->name, module->name);
}

static struct qmpi_module *find_recorded(uintptr_t address)
{
    struct qmpi_module *module = atomic_load(&modules);
    while (module && (address < module->begin || address >= module->end))
        module = module->next;
    return module;
}

/* Returns a permanent copy, or NULL if memory is exhausted. */
static const char *copy_permanently(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = qmpi_memory_take(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* Like realpath, but without malloc, which the C library uses there. */
static bool resolve_path(const char *name, char *path, size_t size)
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

/* Returns the path of a module. If the name of the module is absolute, the path is that of the file
 * with this name. Otherwise, the path is taken from the list of all mappings, which takes longer. A
 * relative name is not enough, because the program may have changed its directory. The program
 * itself has no name, and /proc/self/exe is the loader if the user started the program by calling
 * the loader. */
static const char *find_path(const struct qmpi_module *module)
{
    char *path = qmpi_memory_take(PATH_MAX); /* too large for the smallest stack of a thread */
    const char *name = *module->name ? module->name : "/proc/self/exe";
    const bool found =
        path && (*module->name == '/' ? resolve_path(name, path, PATH_MAX)
                                      : qmpi_call_stack_mapped_file(module->begin, path, PATH_MAX));
    return found ? path : name;
}

/* Returns the recorded module, or NULL if memory is exhausted. */
static const struct qmpi_module *add_module(struct qmpi_module found)
{
    struct qmpi_module *module = qmpi_memory_take(sizeof *module);
    const int error = errno;
    found.name = copy_permanently(found.name);
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
    return !look_up_module(address, &found) || (known && is_same_module(known, &found))
               ? known
               : add_module(found);
}

uintptr_t qmpi_module_begin(uintptr_t address)
{
    struct qmpi_module found = {.begin = 0};
    return look_up_module(address, &found) ? found.begin : 0;
}

uintptr_t qmpi_module_unwind_index(uintptr_t address)
{
    struct qmpi_find_object_result found;
    return !qmpi_find_object || qmpi_find_object((void *)address, &found)
               ? 0
               : (uintptr_t)found.eh_frame;
}

/* ---- Code ------------------------------------------------------------------------------------ */

enum { START_SIZE = 64 /* in bytes; _start is shorter */ };

/* Returns whether a module is the C library. Before glibc 2.34, the function that starts threads
 * was in libpthread. */
static bool is_c_library(const struct qmpi_module *module)
{
    const char *name = qmpi_text_base_name(module->name);
    return !strcmp(name, LIBC_SO) || !strcmp(name, LIBPTHREAD_SO);
}

static bool is_tool_of_layer(const struct qmpi_module *module)
{
    if (!*module->name) /* checked first, because a tool may be part of the program */
        return false;
    for (int tool_id = 1; tool_id <= QMPIX_stack.layers; tool_id++) {
        const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
        if (layer && layer->tool && layer->tool->library == module->map)
            return true;
    }
    return false;
}

enum qmpi_module_code qmpi_module_find_code(uintptr_t address, bool *is_permanent)
{
    const struct qmpi_module *module = qmpi_module_find(address);
    /* While one thread builds the stack, another one may walk in the program. It must not read the
     * layers yet, and its result may later be wrong. */
    const bool has_layers = qmpi_chain_is_active();
    *is_permanent = module && has_layers && qmpi_module_is_open(module);
    if (qmpi_caller_is_between((const void *)address))
        return QMPI_CODE_BETWEEN;
    if (address - getauxval(AT_ENTRY) < START_SIZE || (module && is_c_library(module)))
        return QMPI_CODE_START;
    return module && has_layers && is_tool_of_layer(module) ? QMPI_CODE_LAYER : QMPI_CODE_PROGRAM;
}

/* ---- Closing --------------------------------------------------------------------------------- */

atomic_int qmpi_module_closing_count; /* see modules.h */

/* Returns whether all calls of dlclose reach that of libqmpi. They do not in libqmpi.a, nor if
 * libqmpi itself was opened with dlopen. */
static bool is_closing_seen(void)
{
    /* This is the function to which the loader bound the name, or one to which another library,
     * such as UCX, has redirected it. */
    int (*volatile first)(void *) = dlclose;
    return qmpi_exported_dlclose && (first == qmpi_exported_dlclose ||
                                     qmpi_interpose_gave_dlclose((const void *)(uintptr_t)first));
}

bool qmpi_module_is_open(const struct qmpi_module *module)
{
    return !atomic_load_explicit(&module->is_closed, memory_order_acquire) &&
           (!*module->name || is_closing_seen());
}

/* Called while the list of the loader cannot change. Otherwise, another thread that closes a
 * library could free what look_up_module reads. */
static int mark_closed(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    (void)data;
    for (struct qmpi_module *module = atomic_load(&modules); module; module = module->next) {
        struct qmpi_module now = {.begin = 0};
        if (!atomic_load(&module->is_closed) &&
            (!look_up_module(module->begin, &now) || !is_same_module(module, &now)))
            atomic_store(&module->is_closed, true);
    }
    return 1;
}

void qmpi_module_mark_closed(void)
{
    if (atomic_load(&modules))
        qmpi_elf_walk(mark_closed, NULL);
}

/* [tool_id] */
static _Atomic(QMPIX_Library_closed *) callbacks[QMPI_LAYERS_MAX + 1];

int QMPIX_Register_library_closed(int tool_id, QMPIX_Library_closed *callback)
{
    if (!qmpi_layer_get(tool_id) || !callback)
        return MPI_ERR_ARG;
    atomic_store(&callbacks[tool_id], callback);
    return MPI_SUCCESS;
}

void qmpi_module_tell_closed(void)
{
    for (struct qmpi_module *module = atomic_load(&modules); module; module = module->next) {
        if (!atomic_load(&module->is_closed) || atomic_exchange(&module->is_told, true))
            continue;
        for (int tool_id = 1; tool_id <= QMPI_LAYERS_MAX; tool_id++) {
            QMPIX_Library_closed *callback = atomic_load(&callbacks[tool_id]);
            if (callback)
                callback(tool_id, module->path, (const void *)module->begin,
                         (const void *)module->end);
        }
    }
}
