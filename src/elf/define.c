/* SPDX-License-Identifier: MIT */
/*
 * See define.h. A symbol's value is an offset from where the object is loaded; that of another
 * object's function is one, too, and the loader adds the two without a look at where the sum lies.
 */
#define _GNU_SOURCE
#include "elf/define.h"

#include "util/util.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the segment that an address lies in; 0: of none. */
static int protection(const struct qmpi_elf_loaded *object, const void *address)
{
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type != PT_LOAD ||
            (ElfW(Addr))address - object->base - segment->p_vaddr >= segment->p_memsz)
            continue;
        return (segment->p_flags & PF_R ? PROT_READ : 0) |
               (segment->p_flags & PF_W ? PROT_WRITE : 0) |
               (segment->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return 0;
}

/* The value that a symbol is to have; its own where it is to stay. */
static ElfW(Addr) value_of(const struct qmpi_elf_loaded *object, const ElfW(Sym) * symbol,
                           qmpi_elf_definition *definition)
{
    const void *target = qmpi_elf_defines(symbol)
                             ? definition(qmpi_elf_string(&object->image, symbol->st_name))
                             : NULL;
    return target ? (ElfW(Addr))target - object->base : symbol->st_value;
}

char *qmpi_elf_redefine(const struct qmpi_elf_loaded *object, qmpi_elf_definition *definition)
{
    const ElfW(Sym) *symbols = object->image.symbols;
    size_t first = 0, end = qmpi_elf_symbol_count(&object->image);
    while (first < end && value_of(object, &symbols[first], definition) == symbols[first].st_value)
        first++;
    while (first < end &&
           value_of(object, &symbols[end - 1], definition) == symbols[end - 1].st_value)
        end--;
    if (first == end)
        return NULL;
    /* The pages may contain code that other threads run meanwhile: they keep their protection and
     * become writable in addition.
     */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)&symbols[first] & ~(page - 1);
    const size_t size = (uintptr_t)&symbols[end] - start;
    const int before = protection(object, symbols);
    if (mprotect((void *)start, size, before | PROT_WRITE) != 0)
        return qmpi_message("cannot change the symbols of %s: %s", object->name, strerror(errno));
    for (size_t i = first; i < end; i++) {
        const ElfW(Addr) value = value_of(object, &symbols[i], definition);
        if (value != symbols[i].st_value) /* other threads' loader may be reading it */
            __atomic_store_n((ElfW(Addr) *)(uintptr_t)&symbols[i].st_value, value,
                             __ATOMIC_RELEASE);
    }
    mprotect((void *)start, size, before);
    return NULL;
}
