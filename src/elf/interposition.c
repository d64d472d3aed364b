/* SPDX-License-Identifier: MIT */
/* See interposition.h. */
#define _GNU_SOURCE
#include "elf/interposition.h"

#include "util/util.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Known to everybody; the rest are counted. */
static const char *const known[] = {"open",  "read",   "write",  "close", "fopen",
                                    "fread", "fwrite", "malloc", "free",  "pthread_create"};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(name, known[i]))
            return true;
    }
    return false;
}

static void append(char **names, const char *name)
{
    char *longer = qmpi_format("%s%s%s", *names ? *names : "", *names ? ", " : "", name);
    free(*names);
    *names = longer;
}

static bool defines(const struct qmpi_elf_image *image, const char *name)
{
    const size_t symbols = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < symbols; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            !strcmp(qmpi_elf_string(image, image->symbols[i].st_name), name))
            return true;
    }
    return false;
}

/* Names up to `room` of the functions of libc that the object defines, and another (NULL: none)
 * too, known or not; counts all. */
static int find(const struct qmpi_elf_image *image, const struct qmpi_elf_image *other, void *libc,
                bool want_known, int room, char **names)
{
    int count = 0;
    const size_t symbols = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < symbols; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        const char *name = qmpi_elf_string(image, symbol->st_name);
        /* Names with an underscore in front are the compiler's, or variants of others. */
        if (!qmpi_elf_defines(symbol) || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
            name[0] == '_' || is_known(name) != want_known || !dlsym(libc, name) ||
            (other && !defines(other, name)))
            continue;
        if (count++ < room)
            append(names, name);
    }
    return count;
}

static char *name_all(const struct qmpi_elf_image *image, const struct qmpi_elf_image *other)
{
    enum { NAMED = 5 };
    void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    char *names = NULL;
    if (!libc)
        return NULL;
    int count = find(image, other, libc, true, NAMED, &names);
    count += find(image, other, libc, false, count < NAMED ? NAMED - count : 0, &names);
    dlclose(libc);
    if (count > NAMED) {
        char *longer = qmpi_format("%s and %d more", names, count - NAMED);
        free(names);
        names = longer;
    }
    return names;
}

char *qmpi_replaces(const struct qmpi_elf_image *image)
{
    return name_all(image, NULL);
}

char *qmpi_replaces_both(const struct qmpi_elf_image *one, const struct qmpi_elf_image *other)
{
    return name_all(one, other);
}
