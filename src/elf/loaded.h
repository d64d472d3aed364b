/* SPDX-License-Identifier: MIT */
/*
 * The symbol tables of objects that the dynamic loader has loaded. dlsym also searches the
 * dependencies of an object, and in the global scope, tools replace many names; here, a symbol is
 * found only in the given object.
 */
#ifndef QMPI_ELF_LOADED_H
#define QMPI_ELF_LOADED_H

#include "elf/hash_table.h"
#include "elf/image.h"

struct dl_phdr_info;

struct qmpi_elf_loaded {
    struct qmpi_elf_image image;
    ElfW(Addr) base;
    const char *name; /* as in the list of the loader; "" for the program */
    const ElfW(Phdr) * segments;
    int segment_count;
};

/* Reads an object from dl_iterate_phdr. Returns false if it has no dynamic symbols. */
bool qmpi_elf_loaded_read(const struct dl_phdr_info *info, struct qmpi_elf_loaded *object);

/* Returns the address of a function or variable that this object itself defines; NULL: not defined.
 */
void *qmpi_elf_loaded_find(const struct qmpi_elf_loaded *object, const char *name);

/* The same, with the hash of the name. */
void *qmpi_elf_loaded_find_hashed(const struct qmpi_elf_loaded *object, struct qmpi_elf_name name);

/* The address of one of the object's symbols. */
void *qmpi_elf_loaded_address(const struct qmpi_elf_loaded *object, const ElfW(Sym) * symbol);

/*
 * Converts an address in the dynamic section of the object to a pointer. glibc relocates these
 * addresses on most processors; other loaders do not.
 */
const void *qmpi_elf_loaded_at(const struct qmpi_elf_loaded *object, uint64_t address);

/* Whether `address` lies in one of the object's segments. */
bool qmpi_elf_loaded_contains(const struct qmpi_elf_loaded *object, const void *address);

/* Finds the loaded object that contains an address. Returns false if there is none, or if it has no
 * dynamic symbols. */
bool qmpi_elf_loaded_holder(const void *address, struct qmpi_elf_loaded *object);

/* Returns the number of objects loaded so far, including unloaded ones. */
unsigned long long qmpi_elf_loads(void);

#endif
