/* SPDX-License-Identifier: MIT */
/*
 * The public calls for what is at an address. Descriptions are made once for each library and
 * offset, under a lock, and never freed. An address that was described is found without the lock,
 * and the library that it was in then tells whether it still is.
 */
#define _GNU_SOURCE
#include "elf/elf.h"
#include "process/process.h"
#include "sites/modules.h"
#include "sites/sites.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 1024 };

struct described {
    QMPIX_Address description;
    struct described *next;
};
struct seen {
    uintptr_t address;
    const struct qmpi_module *module;
    const QMPIX_Address *description;
    struct seen *next;
};

QMPI_LOCK(lock);
static struct described *described[BUCKETS]; /* by offset */
static _Atomic(struct seen *) seen[BUCKETS]; /* by address; only added to, the last one first */
static pid_t reading;                        /* the process that is reading debug information */

/* ---- Reading --------------------------------------------------------------------------------- */

/* What reads it; all NULL: it is closed. */
static struct {
    void *library;
    qmpi_symbols_finder *find;
    qmpi_symbols_closer *close;
    bool failed; /* the library cannot be opened */
} reader;

static void open_reader(void)
{
    if (reader.library || reader.failed || qmpi_elf_walks_alone())
        return;
    char *path = qmpi_format("%s/%s", qmpi_installed_folder(), QMPI_SYMBOLS_FILE);
    reader.library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    reader.failed = !reader.library;
    if (reader.failed) {
        qmpi_debug(QMPI_TOPIC_LOAD, "no debug information is read: %s", dlerror());
    } else {
        reader.find = (qmpi_symbols_finder *)(uintptr_t)dlsym(reader.library, QMPI_SYMBOLS_FIND);
        reader.close = (qmpi_symbols_closer *)(uintptr_t)dlsym(reader.library, QMPI_SYMBOLS_CLOSE);
    }
    free(path);
}

/* Whether nobody was reading when this process was forked: then the reader's data is whole. */
static bool begin_reading(void)
{
    if (reading && reading != getpid())
        return false;
    reading = getpid();
    return true;
}

static int read_symbols(const char *library, size_t offset, QMPIX_Frame **frames)
{
    open_reader();
    if (!reader.find || !begin_reading())
        return 0;
    const int count = reader.find(library, offset, frames);
    reading = 0;
    return count;
}

/* What the library exports, if it is mapped at `address`. */
static int read_exported(uintptr_t address, QMPIX_Frame **frames)
{
    Dl_info info;
    if (!address || !dladdr((void *)(address - 1), &info) || !info.dli_sname)
        return 0;
    *frames = qmpi_allocate(1, sizeof **frames);
    (*frames)->function = qmpi_copy(info.dli_sname);
    return 1;
}

/* `address`: where that is mapped, which may tell more; 0: unknown. With the lock. */
static const QMPIX_Address *describe(const char *library, size_t offset, uintptr_t address)
{
    struct described **bucket = &described[offset % BUCKETS], *new;
    for (struct described *old = *bucket; old; old = old->next) {
        if (old->description.offset == offset && !strcmp(old->description.library, library) &&
            (old->description.frame_count || !address))
            return &old->description;
    }
    QMPIX_Frame *frames = NULL;
    int count = read_symbols(library, offset, &frames);
    if (!count)
        count = read_exported(address, &frames);
    new = qmpi_allocate(1, sizeof *new);
    new->description = (QMPIX_Address){qmpi_copy(library), offset, count, frames};
    new->next = *bucket;
    *bucket = new;
    return &new->description;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static const struct seen *find_seen(struct seen *all, uintptr_t address)
{
    while (all && all->address != address)
        all = all->next;
    return all;
}

/* Of an address that was not described, or whose library may have been closed since. */
static const QMPIX_Address *look_at(uintptr_t address, const struct seen *before)
{
    const struct qmpi_module *module = qmpi_module_find(address);
    if (!module || (before && before->module == module))
        return module ? before->description : NULL;
    _Atomic(struct seen *) *bucket = &seen[address % BUCKETS];
    struct seen *new = qmpi_allocate(1, sizeof *new);
    pthread_mutex_lock(&lock);
    *new = (struct seen){.address = address,
                         .module = module,
                         .description = describe(module->path, address - module->begin,
                                                 atomic_load(&module->is_closed) ? 0 : address),
                         .next = atomic_load(bucket)};
    atomic_store(bucket, new);
    pthread_mutex_unlock(&lock);
    return new->description;
}

int QMPIX_Address_describe(const void *address, const QMPIX_Address **description)
{
    const uintptr_t number = (uintptr_t)address;
    if (!description)
        return MPI_ERR_ARG;
    const struct seen *before = find_seen(atomic_load(&seen[number % BUCKETS]), number);
    const QMPIX_Address *found = before && qmpi_module_is_open(before->module)
                                     ? before->description
                                     : look_at(number, before);
    if (!found)
        return MPI_ERR_ARG;
    *description = found;
    return MPI_SUCCESS;
}

int QMPIX_Address_find(const void *address, const char **library, size_t *offset)
{
    const struct qmpi_module *module = qmpi_module_find((uintptr_t)address);
    if (!library || !offset || !module)
        return MPI_ERR_ARG;
    *library = module->path;
    *offset = (uintptr_t)address - module->begin;
    return MPI_SUCCESS;
}

int QMPIX_Library_describe(const char *library, size_t offset, const QMPIX_Address **description)
{
    if (!library || !description)
        return MPI_ERR_ARG;
    pthread_mutex_lock(&lock);
    *description = describe(library, offset, 0);
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

void QMPIX_Debug_info_release(void)
{
    pthread_mutex_lock(&lock);
    if (reader.close && begin_reading()) {
        reader.close();
        reader.find = NULL;
        reader.close = NULL;
        dlclose(reader.library);
        reader.library = NULL;
        reading = 0;
    }
    pthread_mutex_unlock(&lock);
}
