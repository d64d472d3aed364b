/* SPDX-License-Identifier: MIT */
/* See unique.h. */
#define _GNU_SOURCE
#include "pmpi/unique.h"

#include "elf/elf.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct qmpi_unique_name {
    uint32_t hash;
    bool removed;
    char *text;
};

static int compare_names(const void *one, const void *other)
{
    const struct qmpi_unique_name *first = one, *second = other;
    if (first->hash != second->hash)
        return first->hash < second->hash ? -1 : 1;
    return strcmp(first->text, second->text);
}

static struct qmpi_unique_name *find_name(const struct qmpi_unique *unique, const char *text)
{
    const struct qmpi_unique_name name = {qmpi_elf_hash(text), false, (char *)(uintptr_t)text};
    return unique->count ? bsearch(&name, unique->names, (size_t)unique->count,
                                   sizeof *unique->names, compare_names)
                         : NULL;
}

/* Adds a name, of which the set becomes the owner. */
static void add_name(struct qmpi_unique *unique, char *text)
{
    unique->names = qmpi_memory_grow(unique->names, unique->count, sizeof *unique->names);
    unique->names[unique->count++] = (struct qmpi_unique_name){qmpi_elf_hash(text), false, text};
}

static void sort_names(struct qmpi_unique *unique)
{
    int kept = 0;
    if (unique->count)
        qsort(unique->names, (size_t)unique->count, sizeof *unique->names, compare_names);
    for (int i = 0; i < unique->count; i++) {
        if (kept && !compare_names(&unique->names[kept - 1], &unique->names[i]))
            free(unique->names[i].text);
        else
            unique->names[kept++] = unique->names[i];
    }
    unique->count = kept;
}

static bool is_unique(const ElfW(Sym) * symbol)
{
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_GNU_UNIQUE;
}

static void remove_symbols(struct qmpi_unique *unique, const struct qmpi_elf_image *image)
{
    const size_t count = unique->count ? qmpi_elf_symbol_count(image) : 0;
    for (size_t i = 1; i < count; i++) {
        struct qmpi_unique_name *name =
            ELF64_ST_BIND(image->symbols[i].st_info) != STB_LOCAL
                ? find_name(unique, qmpi_elf_string(image, image->symbols[i].st_name))
                : NULL;
        if (name)
            name->removed = true;
    }
}

void qmpi_unique_add(struct qmpi_unique *unique, const char *path)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open(path, &file))
        return;
    for (size_t i = 1; i < file.image.symbol_count; i++) {
        const ElfW(Sym) *symbol = &file.image.symbols[i];
        if (is_unique(symbol))
            add_name(unique, qmpi_copy(qmpi_elf_string(&file.image, symbol->st_name)));
    }
    qmpi_elf_file_close(&file);
}

static void add_renamed_symbols(struct qmpi_unique *unique, const struct qmpi_elf_image *image,
                                int owner)
{
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 1; i < count; i++) {
        const char *name = qmpi_elf_string(image, image->symbols[i].st_name);
        const size_t length =
            is_unique(&image->symbols[i]) ? qmpi_elf_copy_renamed_length(name, owner) : 0;
        if (length)
            add_name(unique, qmpi_copy_part(name, length));
    }
}

static void visit_objects(struct qmpi_unique *unique, const struct qmpi_layer *layer, bool add)
{
    for (const struct qmpi_layer_group *group = qmpi_layer_group_first(); group;
         group = group->next) {
        for (int i = 0; group->layer == layer && i < group->count; i++) {
            if (add)
                add_renamed_symbols(unique, &group->objects[i].image, layer->tool_id);
            else
                remove_symbols(unique, &group->objects[i].image);
        }
    }
}

void qmpi_unique_add_layer(struct qmpi_unique *unique, const struct qmpi_layer *layer)
{
    visit_objects(unique, layer, true);
    sort_names(unique);
    visit_objects(unique, layer, false);
}

void qmpi_unique_remove(struct qmpi_unique *unique, const char *path)
{
    struct qmpi_elf_file file;
    if (!unique->count || qmpi_elf_file_open(path, &file))
        return;
    remove_symbols(unique, &file.image);
    qmpi_elf_file_close(&file);
}

bool qmpi_unique_has(const struct qmpi_unique *unique, const char *name)
{
    const struct qmpi_unique_name *found = find_name(unique, name);
    return found && !found->removed;
}

void qmpi_unique_free(struct qmpi_unique *unique)
{
    for (int i = 0; i < unique->count; i++)
        free(unique->names[i].text);
    free(unique->names);
}
