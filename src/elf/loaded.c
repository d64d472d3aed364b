/* SPDX-License-Identifier: MIT */
/* See loaded.h. */
#define _GNU_SOURCE
#include "elf/loaded.h"

#include "util/util.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- The loader's list ----------------------------------------------------------------------- */

/* Forks and walks wait for each other no longer than this: a walk may itself be waiting for the
 * loader's lock, which a forking thread may hold. */
enum { PATIENCE = 1000 /* milliseconds */ };

/* The numbers of threads that are walking or forking. A thread increments one number and then reads
 * the other, so that of a walking and a forking thread, at least one sees the other. Only
 * sequentially consistent order ensures this. */
static atomic_int walks, forks;
static _Thread_local int walk_depth; /* of nested walks in this thread */

/* Whether this process is a forked child, in which the loader's lock may belong to a thread of the
 * parent. Set in the child before it has a second thread. */
static atomic_bool forked;

static void wait_for_threads(atomic_int *threads, int remaining)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; atomic_load(threads) > remaining && i < PATIENCE; i++)
        nanosleep(&pause, NULL);
}

static void begin_walk(void)
{
    if (walk_depth++ > 0)
        return;
    atomic_fetch_add(&walks, 1);
    if (atomic_load(&forks) > 0) { /* the forking thread may not have seen this walk */
        atomic_fetch_sub(&walks, 1);
        wait_for_threads(&forks, 0);
        atomic_fetch_add(&walks, 1);
    }
}

static void end_walk(void)
{
    if (--walk_depth == 0)
        atomic_fetch_sub(&walks, 1);
}

/* Uses the program headers at `address` if they are those of the object, whose dynamic section is
 * known. They may not be readable if another thread of the parent was mapping or unmapping the
 * object during the fork, or if `address` lies behind the end of the mapped file. */
static bool use_segments(const struct link_map *object, uintptr_t address, ElfW(Half) count,
                         struct dl_phdr_info *info)
{
    const ElfW(Phdr) *segments = (const void *)address;
    if (address % _Alignof(ElfW(Phdr)) ||
        !qmpi_memory_can_be_read(segments, count * sizeof *segments))
        return false;
    for (int i = 0; i < count; i++) {
        if (segments[i].p_type == PT_DYNAMIC &&
            (const void *)(object->l_addr + segments[i].p_vaddr) == object->l_ld) {
            info->dlpi_phdr = segments;
            info->dlpi_phnum = count;
            return qmpi_memory_can_be_read(object->l_ld, segments[i].p_memsz);
        }
    }
    return false;
}

/* Finds the program headers of an object in the loader's list. The ELF header of a library is at
 * its first address and tells where the program headers are, except in a copy (copy.h), where they
 * end in front of the dynamic section. */
static bool find_segments(const struct link_map *object, struct dl_phdr_info *info)
{
    *info = (struct dl_phdr_info){.dlpi_addr = object->l_addr, .dlpi_name = object->l_name};
    if (!object->l_prev) { /* the program */
        info->dlpi_phdr = (const void *)getauxval(AT_PHDR);
        info->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
        return true;
    }
    const ElfW(Ehdr) *header = (const void *)object->l_addr;
    if (!qmpi_memory_can_be_read(header, sizeof *header) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    const uintptr_t in_front = (uintptr_t)object->l_ld - header->e_phnum * sizeof(ElfW(Phdr));
    return use_segments(object, object->l_addr + header->e_phoff, header->e_phnum, info) ||
           use_segments(object, in_front, header->e_phnum, info);
}

/* Works like dl_iterate_phdr without a lock, for a process with one thread. `dlpi_adds` is
 * different in each walk, as if an object had been loaded since the last one, because the number of
 * loaded objects is unknown. */
static int walk_alone(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static unsigned long long walk;
    struct dl_phdr_info info;
    int result = 0;
    walk++;
    for (const struct link_map *object = _r_debug.r_map; object && !result;
         object = object->l_next) {
        if (find_segments(object, &info)) {
            info.dlpi_adds = ~walk;
            result = visit(&info, sizeof info, data);
        }
    }
    return result;
}

bool qmpi_elf_walks_alone(void)
{
    struct stat tasks; /* a directory with an entry for each thread */
    return atomic_load(&forked) && stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 2 + 1;
}

typedef int visit_object(struct dl_phdr_info *info, size_t size, void *data);

/* A visit that longjmp must not leave when memory is exhausted, because the loader's lock would
 * never be released. */
struct careful_visit {
    visit_object *visit;
    void *data;
    struct dl_phdr_info *info;
    size_t size;
    int result;
    bool is_exhausted;
};

static void visit_caught(void *data)
{
    struct careful_visit *careful = data;
    careful->result = careful->visit(careful->info, careful->size, careful->data);
}

static int visit_carefully(struct dl_phdr_info *info, size_t size, void *data)
{
    struct careful_visit *careful = data;
    careful->info = info;
    careful->size = size;
    careful->is_exhausted = !qmpi_memory_catch_exhausted(visit_caught, careful);
    return careful->is_exhausted || careful->result;
}

int qmpi_elf_walk(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
    struct careful_visit careful = {.visit = visit, .data = data};
    if (qmpi_elf_walks_alone())
        return walk_alone(visit, data);
    begin_walk();
    if (qmpi_memory_catches_exhausted())
        dl_iterate_phdr(visit_carefully, &careful);
    else
        careful.result = dl_iterate_phdr(visit, data);
    end_walk();
    if (careful.is_exhausted)
        qmpi_memory_exhausted();
    return careful.result;
}

static void before_fork(void)
{
    atomic_fetch_add(&forks, 1);
    wait_for_threads(&walks, walk_depth > 0);
}

static void after_fork(void)
{
    atomic_fetch_sub(&forks, 1);
}

static void after_fork_in_child(void)
{
    atomic_store(&forked, true);
    atomic_store(&forks, 0);
    atomic_store(&walks, walk_depth > 0);
}

void qmpi_elf_walk_start(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static int read_load_count(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_adds;
    return 1;
}

unsigned long long qmpi_elf_load_count(void)
{
    unsigned long long loaded = 0;
    qmpi_elf_walk(read_load_count, &loaded);
    return loaded;
}

/* ---- One object ------------------------------------------------------------------------------ */

const void *qmpi_elf_loaded_pointer(const struct qmpi_elf_loaded *object, uint64_t address)
{
    return (const void *)(address < object->base ? address + object->base : address);
}

bool qmpi_elf_loaded_read(const struct dl_phdr_info *info, struct qmpi_elf_loaded *object)
{
    *object = (struct qmpi_elf_loaded){.base = info->dlpi_addr,
                                       .name = info->dlpi_name ? info->dlpi_name : "",
                                       .segments = info->dlpi_phdr,
                                       .segment_count = info->dlpi_phnum};
    struct qmpi_elf_image *image = &object->image;
    for (int i = 0; i < info->dlpi_phnum && !image->dynamic; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            image->dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    if (!image->dynamic)
        return false;
    uint64_t symbols = 0, strings = 0, gnu = 0, hash = 0;
    const ElfW(Dyn) *entry = image->dynamic;
    for (; entry->d_tag != DT_NULL; entry++) { /* one pass, because this is done for every object */
        switch (entry->d_tag) {
        case DT_SYMTAB:
            symbols = entry->d_un.d_ptr;
            break;
        case DT_STRTAB:
            strings = entry->d_un.d_ptr;
            break;
        case DT_STRSZ:
            image->string_size = (size_t)entry->d_un.d_val;
            break;
        case DT_GNU_HASH:
            gnu = entry->d_un.d_ptr;
            break;
        case DT_HASH:
            hash = entry->d_un.d_ptr;
            break;
        default:
            break;
        }
    }
    image->dynamic_count = (size_t)(entry - image->dynamic);
    if (!symbols || !strings || (!gnu && !hash))
        return false;
    image->symbols = qmpi_elf_loaded_pointer(object, symbols);
    image->strings = qmpi_elf_loaded_pointer(object, strings);
    image->gnu_hash = gnu ? qmpi_elf_loaded_pointer(object, gnu) : NULL;
    if (hash)
        image->symbol_count = ((const uint32_t *)qmpi_elf_loaded_pointer(object, hash))[1];
    return true;
}

static const ElfW(Sym) * find_in_order(const struct qmpi_elf_image *image, const char *name)
{
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        if (qmpi_elf_defines(symbol) && !strcmp(qmpi_elf_string(image, symbol->st_name), name))
            return symbol;
    }
    return NULL;
}

void *qmpi_elf_loaded_address(const struct qmpi_elf_loaded *object, const ElfW(Sym) * symbol)
{
    const ElfW(Addr) address = object->base + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((void *(*)(void))address)();
    return (void *)address;
}

static const ElfW(Sym) *
    find_in_table(const struct qmpi_elf_image *image, const struct qmpi_elf_name name)
{
    const struct qmpi_elf_table table = qmpi_elf_table_of(image);
    return qmpi_elf_table_may_have(table, name) ? qmpi_elf_table_find(image, table, name) : NULL;
}

void *qmpi_elf_loaded_find_hashed(const struct qmpi_elf_loaded *object, struct qmpi_elf_name name)
{
    const struct qmpi_elf_image *image = &object->image;
    const ElfW(Sym) *symbol =
        image->gnu_hash ? find_in_table(image, name) : find_in_order(image, name.name);
    return symbol ? qmpi_elf_loaded_address(object, symbol) : NULL;
}

void *qmpi_elf_loaded_find(const struct qmpi_elf_loaded *object, const char *name)
{
    return qmpi_elf_loaded_find_hashed(object, (struct qmpi_elf_name){name, qmpi_elf_hash(name)});
}

bool qmpi_elf_loaded_contains(const struct qmpi_elf_loaded *object, const void *address)
{
    const ElfW(Addr) offset = (ElfW(Addr))address - object->base;
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_vaddr &&
            offset - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

const char *qmpi_elf_loaded_function_at(const struct qmpi_elf_loaded *object, const void *address)
{
    /* If a function ends with a call that does not return, the return address is behind the end of
     * the function, so the byte before it is looked up. */
    const ElfW(Addr) offset = (ElfW(Addr))address - 1 - object->base;
    const size_t count = qmpi_elf_symbol_count(&object->image);
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &object->image.symbols[i];
        if (qmpi_elf_defines(symbol) && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            offset - symbol->st_value < symbol->st_size)
            return qmpi_elf_string(&object->image, symbol->st_name);
    }
    return NULL;
}

struct container_search {
    const void *address;
    struct qmpi_elf_loaded *object;
    bool found;
};

static int visit_for_container(struct dl_phdr_info *info, size_t size, void *data)
{
    struct container_search *search = data;
    const struct qmpi_elf_loaded segments = {
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    (void)size;
    if (!qmpi_elf_loaded_contains(&segments, search->address))
        return 0;
    search->found = qmpi_elf_loaded_read(info, search->object);
    return 1;
}

bool qmpi_elf_loaded_containing(const void *address, struct qmpi_elf_loaded *object)
{
    struct container_search search = {address, object, false};
    qmpi_elf_walk(visit_for_container, &search);
    return search.found;
}

/* ---- Objects that may be changed ------------------------------------------------------------- */

/* dlopen is not called inside dl_iterate_phdr, which holds a lock of the loader: dlopen takes this
 * lock after another one, so two threads could wait for each other. */

struct hold_search {
    qmpi_elf_wants *wants;
    void *data;
    struct qmpi_elf_held *found; /* at first without handles, and with copies of the names */
    int count;
};

static int collect_wanted(struct dl_phdr_info *info, size_t size, void *data)
{
    struct hold_search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !search->wants(search->data, &object))
        return 0;
    search->found = qmpi_memory_grow(search->found, search->count, sizeof *search->found);
    object.name = qmpi_copy(object.name);
    search->found[search->count++] = (struct qmpi_elf_held){object, NULL};
    return 0;
}

/* Returns a handle of this object; NULL: it has been unloaded or replaced by another object at its
 * address. */
static void *open_handle(const struct qmpi_elf_loaded *object)
{
    const struct link_map *map = NULL;
    void *handle = dlopen(*object->name ? object->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_addr != object->base ||
                   map->l_ld != object->image.dynamic)) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

/* Reads the objects again: between the first walk and dlopen, another object may have been loaded
 * at the address of one of them. This also sets their names, whose copies have been freed. */
static int reread_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct hold_search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object))
        return 0;
    for (int i = 0; i < search->count; i++) {
        if (search->found[i].object.image.dynamic == object.image.dynamic)
            search->found[i].object = object;
    }
    return 0;
}

struct qmpi_elf_held *qmpi_elf_hold(qmpi_elf_wants *wants, void *data, int *count)
{
    struct hold_search search = {wants, data, NULL, 0};
    /* In a forked child with one thread, no object is unloaded, and dlopen may fail an
     * assertion. */
    const bool alone = qmpi_elf_walks_alone();
    int held = 0;
    qmpi_elf_walk(collect_wanted, &search);
    for (int i = 0; i < search.count; i++) {
        struct qmpi_elf_held *one = &search.found[i];
        one->handle = alone ? NULL : open_handle(&one->object);
        free((char *)(uintptr_t)one->object.name);
        if (one->handle || alone)
            search.found[held++] = *one;
    }
    *count = search.count = held;
    if (held)
        qmpi_elf_walk(reread_object, &search);
    return search.found;
}

void qmpi_elf_release(struct qmpi_elf_held *held, int count)
{
    for (int i = 0; i < count; i++) {
        if (held[i].handle)
            dlclose(held[i].handle);
    }
    free(held);
}
