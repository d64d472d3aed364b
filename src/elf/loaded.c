/* SPDX-License-Identifier: MIT */
/* See loaded.h. */
#define _GNU_SOURCE
#include "elf/loaded.h"

#include "elf/walk.h"

#include <string.h>

const void *qmpi_elf_loaded_at(const struct qmpi_elf_loaded *object, uint64_t address)
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
    for (; entry->d_tag != DT_NULL; entry++) { /* once for all: this is done for every object */
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
    image->symbols = qmpi_elf_loaded_at(object, symbols);
    image->strings = qmpi_elf_loaded_at(object, strings);
    image->gnu_hash = gnu ? qmpi_elf_loaded_at(object, gnu) : NULL;
    if (hash)
        image->symbol_count = ((const uint32_t *)qmpi_elf_loaded_at(object, hash))[1];
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

struct holder {
    const void *address;
    struct qmpi_elf_loaded *object;
    bool found;
};

static int look_for_holder(struct dl_phdr_info *info, size_t size, void *data)
{
    struct holder *holder = data;
    const struct qmpi_elf_loaded segments = {
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    (void)size;
    if (!qmpi_elf_loaded_contains(&segments, holder->address))
        return 0;
    holder->found = qmpi_elf_loaded_read(info, holder->object);
    return 1;
}

bool qmpi_elf_loaded_holder(const void *address, struct qmpi_elf_loaded *object)
{
    struct holder holder = {address, object, false};
    qmpi_elf_walk(look_for_holder, &holder);
    return holder.found;
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_adds;
    return 1;
}

unsigned long long qmpi_elf_loads(void)
{
    unsigned long long loaded = 0;
    qmpi_elf_walk(count_loaded, &loaded);
    return loaded;
}
