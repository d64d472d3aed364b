/* SPDX-License-Identifier: MIT */
/*
 * Objects that the dynamic loader has loaded: the loader's list, their symbol tables, and handles
 * that keep them loaded while they are changed. These functions look up a symbol only in the given
 * object. dlsym would also search the dependencies of the object, and in the global scope, it would
 * find the definitions of tools.
 */
#ifndef QMPI_ELF_LOADED_H
#define QMPI_ELF_LOADED_H

#include "elf/image.h"

struct dl_phdr_info;

/* ---- The loader's list ----------------------------------------------------------------------- */

/*
 * Like dl_iterate_phdr. May be nested, and called by several threads. If another thread holds the
 * dynamic loader's lock during a fork, the lock is never released in the child, where
 * dl_iterate_phdr and dlopen would then never return. A fork therefore waits, for at most a second,
 * until no other thread is in qmpi_elf_walk. A thread that is in dlopen or dlclose also holds the
 * lock, so a child with one thread walks without the lock.
 */
int qmpi_elf_walk(int (*visit)(struct dl_phdr_info *info, size_t size, void *data), void *data);

/* Whether this process is a forked child with one thread. During the fork, another thread of the
 * parent may have been loading or unloading an object. Therefore, dlopen should be avoided in such
 * a process: it may fail an assertion or never return. */
bool qmpi_elf_walks_alone(void);

/* Installs the fork handlers. Called once, before libqmpi starts threads. */
void qmpi_elf_walk_start(void);

/* Returns the number of objects that have been loaded so far, including those that have been
 * unloaded again. If qmpi_elf_walks_alone returns true, returns another number each time. */
unsigned long long qmpi_elf_load_count(void);

/* ---- One object ------------------------------------------------------------------------------ */

struct qmpi_elf_loaded {
    struct qmpi_elf_image image;
    ElfW(Addr) base;
    const char *name; /* as in the list of the loader; "" for the program */
    const ElfW(Phdr) * segments;
    int segment_count;
};

/* Reads an object from dl_iterate_phdr. Returns false if it has no dynamic symbols, or no hash
 * table for them. */
bool qmpi_elf_loaded_read(const struct dl_phdr_info *info, struct qmpi_elf_loaded *object);

/* Returns the address of a function or variable that this object itself defines; NULL: not defined.
 */
void *qmpi_elf_loaded_find(const struct qmpi_elf_loaded *object, const char *name);

/* The same for a name whose hash is known. */
void *qmpi_elf_loaded_find_hashed(const struct qmpi_elf_loaded *object, struct qmpi_elf_name name);

/* Returns the address of one of the object's symbols. For a symbol of the type STT_GNU_IFUNC, calls
 * its resolver. */
void *qmpi_elf_loaded_address(const struct qmpi_elf_loaded *object, const ElfW(Sym) * symbol);

/*
 * Converts an address in the dynamic section of the object to a pointer. glibc relocates these
 * addresses on most processors; other loaders do not.
 */
const void *qmpi_elf_loaded_pointer(const struct qmpi_elf_loaded *object, uint64_t address);

/* Whether `address` lies in one of the object's segments. */
bool qmpi_elf_loaded_contains(const struct qmpi_elf_loaded *object, const void *address);

/* Returns the name of the object's exported function in which a return address lies; NULL: none. */
const char *qmpi_elf_loaded_function_at(const struct qmpi_elf_loaded *object, const void *address);

/* Finds the loaded object that contains an address. Returns false if there is none, or if
 * qmpi_elf_loaded_read cannot read it. */
bool qmpi_elf_loaded_containing(const void *address, struct qmpi_elf_loaded *object);

/* ---- Objects that may be changed ------------------------------------------------------------- */

/*
 * dl_iterate_phdr also lists objects that another thread is loading: they are in the loader's list
 * before the loader relocates them and protects their RELRO pages, and nothing shows when the
 * loader has finished. After dl_iterate_phdr returns, another thread may also unload them. dlopen
 * solves both problems: a loading thread holds the loader's lock until all relocations are done, so
 * an object with a handle is complete, and the handle keeps it loaded.
 */
struct qmpi_elf_held {
    struct qmpi_elf_loaded object;
    void *handle; /* NULL if qmpi_elf_walks_alone returned true. A caller that sets it to NULL keeps
                     the object loaded for ever */
};

/* Whether to hold an object. It may still be loading: its tables and names may be read, but not the
 * targets of its relocations. */
typedef bool qmpi_elf_wants(void *data, const struct qmpi_elf_loaded *object);

/*
 * Holds all wanted objects, in the order of the loader, except those that are unloaded meanwhile.
 * Waits for threads that are loading, so the caller must not have a lock that their constructors
 * need. In a process for which qmpi_elf_walks_alone returns true, the objects have no handles; one
 * of them may remain incomplete, but then nothing uses it. qmpi_elf_release frees the array.
 */
struct qmpi_elf_held *qmpi_elf_hold(qmpi_elf_wants *wants, void *data, int *count);

/* Releases the objects and frees the array. */
void qmpi_elf_release(struct qmpi_elf_held *held, int count);

#endif
