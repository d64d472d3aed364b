/* SPDX-License-Identifier: MIT */
/*
 * Objects that the dynamic loader has loaded: their own symbol tables. dlsym also searches an
 * object's dependencies, and the global scope is full of names that tools replaced; here a symbol
 * is found only in the object that is asked.
 */
#ifndef QMPI_ELF_LOADED_H
#define QMPI_ELF_LOADED_H

#include "elf/image.h"

struct dl_phdr_info;

struct qmpi_elf_loaded {
    struct qmpi_elf_image image;
    ElfW(Addr) base;
    const char *name; /* as the loader knows it; "" for the program */
    const ElfW(Phdr) * segments;
    int segment_count;
};

/* Reads an object as dl_iterate_phdr reports it. False: it has no dynamic symbols. */
bool qmpi_elf_loaded_read(const struct dl_phdr_info *info, struct qmpi_elf_loaded *object);

/* The address of a function or object that this object itself defines; NULL: it does not. */
void *qmpi_elf_loaded_find(const struct qmpi_elf_loaded *object, const char *name);

/* The same where the name's hash, as DT_GNU_HASH tables have it, is known. */
void *qmpi_elf_loaded_find_hashed(const struct qmpi_elf_loaded *object, const char *name,
                                  uint32_t hash);

/*
 * What an address of the object's dynamic section points to: glibc relocates those on most
 * processors, other loaders do not.
 */
const void *qmpi_elf_loaded_at(const struct qmpi_elf_loaded *object, uint64_t address);

/* Whether `address` lies in one of the object's segments. */
bool qmpi_elf_loaded_contains(const struct qmpi_elf_loaded *object, const void *address);

/* Finds the loaded object that holds an address. False: there is none, or it has no dynamic
 * symbols. */
bool qmpi_elf_loaded_holder(const void *address, struct qmpi_elf_loaded *object);

/* How many objects have been loaded so far, also those that are gone. */
unsigned long long qmpi_elf_loads(void);

#endif
