/* SPDX-License-Identifier: MIT */
/*
 * The public calls that describe addresses. A description is made for each library and offset,
 * under a lock, and never freed. A description that names no function is not used for an address in
 * this process, because exported symbols may be found there; another description is then made. An
 * address that was described before is found without the lock; its description is used if the
 * library that contained it is still open.
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
/* Lists by address. Elements are added at the front once they are complete, and never removed. */
static _Atomic(struct seen *) seen[BUCKETS];
static pid_t reading; /* the process that is reading debug information; 0: none */

/* ---- Reading --------------------------------------------------------------------------------- */

/* The library that reads debug information. The pointers are NULL unless it is open. */
static struct {
    void *library;
    qmpi_sites_symbol_finder *find;
    qmpi_sites_symbol_closer *close;
    bool failed; /* the library cannot be opened */
} reader;

/* After destructors have run, the reader stays open: if it were opened again, the loader would run
 * the constructors of its dependencies a second time. */
static bool destructors_ran;

__attribute__((destructor)) static void note_destructors(void)
{
    destructors_ran = true;
}

static void open_reader(void)
{
    if (reader.library || reader.failed || qmpi_elf_walks_alone())
        return;
    char *path = qmpi_format("%s/%s", qmpi_installation_folder(), QMPI_SYMBOLS_FILE);
    reader.library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    reader.failed = !reader.library;
    if (reader.failed) {
        qmpi_debug(QMPI_TOPIC_LOAD, "no debug information is read: %s", dlerror());
    } else {
        reader.find =
            (qmpi_sites_symbol_finder *)(uintptr_t)dlsym(reader.library, QMPI_SYMBOLS_FIND);
        reader.close =
            (qmpi_sites_symbol_closer *)(uintptr_t)dlsym(reader.library, QMPI_SYMBOLS_CLOSE);
    }
    free(path);
}

/* Returns false if another thread was reading when this process was forked, because the reader's
 * data may then be incomplete. */
static bool begin_reading(void)
{
    if (reading && reading != getpid())
        return false;
    reading = getpid();
    return true;
}

struct symbol_request {
    const char *library;
    size_t offset;
    QMPIX_Frame **frames;
    int count;
};

static void find_symbols(void *data)
{
    struct symbol_request *request = data;
    open_reader();
    if (!reader.find || !begin_reading())
        return;
    request->count = reader.find(request->library, request->offset, request->frames);
    reading = 0;
}

/* Reads debug information, in a new thread if little of the stack is left: libdw needs more than
 * 100 KiB. */
static int read_symbols(const char *library, size_t offset, QMPIX_Frame **frames)
{
    struct symbol_request request = {library, offset, frames, 0};
    qmpi_call_stack_run(find_symbols, &request);
    return request.count;
}

/* Describes an address by the symbols that its library exports. */
static int read_exported(uintptr_t address, QMPIX_Frame **frames)
{
    Dl_info info;
    if (!address || !dladdr((void *)(address - 1), &info) || !info.dli_sname)
        return 0;
    *frames = qmpi_allocate(1, sizeof **frames);
    (*frames)->function = qmpi_copy(info.dli_sname);
    return 1;
}

/* Returns the description of an offset in a library. The caller holds the lock. `address` is where
 * the offset is mapped, so that exported symbols can be used, or 0 if this is unknown. */
static const QMPIX_Address *describe_place(const char *library, size_t offset, uintptr_t address)
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

struct place_request {
    const char *library;
    size_t offset;
    uintptr_t address;
    const QMPIX_Address *description;
};

static void describe_requested(void *data)
{
    struct place_request *request = data;
    request->description = describe_place(request->library, request->offset, request->address);
}

/* Calls describe_place under the lock. Returns NULL if memory is exhausted. */
static const QMPIX_Address *try_to_describe(const char *library, size_t offset, uintptr_t address)
{
    struct place_request request = {library, offset, address, NULL};
    pthread_mutex_lock(&lock);
    const bool good = qmpi_memory_catch_exhausted(describe_requested, &request);
    pthread_mutex_unlock(&lock);
    return good ? request.description : NULL;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static const struct seen *find_seen(struct seen *all, uintptr_t address)
{
    while (all && all->address != address)
        all = all->next;
    return all;
}

/* Describes an address that was not described yet, or whose library may have been closed. */
static const QMPIX_Address *describe_again(uintptr_t address, const struct seen *before)
{
    const struct qmpi_module *module = qmpi_module_find(address);
    if (!module || (before && before->module == module))
        return module ? before->description : NULL;
    _Atomic(struct seen *) *bucket = &seen[address % BUCKETS];
    const QMPIX_Address *description = try_to_describe(
        module->path, address - module->begin, atomic_load(&module->is_closed) ? 0 : address);
    struct seen *new = description ? calloc(1, sizeof *new) : NULL;
    if (!new)
        return description;
    pthread_mutex_lock(&lock);
    *new = (struct seen){.address = address,
                         .module = module,
                         .description = description,
                         .next = atomic_load(bucket)};
    atomic_store(bucket, new);
    pthread_mutex_unlock(&lock);
    return description;
}

int QMPIX_Address_describe(const void *address, const QMPIX_Address **description)
{
    const uintptr_t number = (uintptr_t)address;
    if (!description)
        return MPI_ERR_ARG;
    const struct seen *before = find_seen(atomic_load(&seen[number % BUCKETS]), number);
    const QMPIX_Address *found = before && qmpi_module_is_open(before->module)
                                     ? before->description
                                     : describe_again(number, before);
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
    const QMPIX_Address *found = try_to_describe(library, offset, 0);
    if (!found)
        return MPI_ERR_OTHER;
    *description = found;
    return MPI_SUCCESS;
}

void QMPIX_Debug_info_release(void)
{
    pthread_mutex_lock(&lock);
    if (reader.close && begin_reading()) {
        reader.close();
        if (!destructors_ran) {
            reader.find = NULL;
            reader.close = NULL;
            dlclose(reader.library);
            reader.library = NULL;
        }
        reading = 0;
    }
    pthread_mutex_unlock(&lock);
}
