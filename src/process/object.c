/* SPDX-License-Identifier: MIT */
/* See object.h. */
#define _GNU_SOURCE
#include "process/object.h"

#include "functions/functions.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

/* ---- MPI symbols ----------------------------------------------------------------------------- */

static bool is_mpi_symbol(const struct qmpi_elf_image *image, const ElfW(Sym) * symbol,
                          bool defined)
{
    const char *name = qmpi_elf_string(image, symbol->st_name);
    const char *plain = name[0] == 'P' && !defined ? name + 1 : name;
    return plain[0] == 'M' && plain[1] == 'P' && (!defined || qmpi_elf_defines(symbol)) &&
           qmpi_function_find(plain) >= 0;
}

/* Whether the string table contains "MPI". This is checked first, because most libraries do not use
 * MPI, and a search of the string table is faster than one of all symbols. */
static bool may_name_mpi(const struct qmpi_elf_image *image)
{
    const char *at = image->strings, *const end = at + image->string_size;
    while ((at = memchr(at, 'M', (size_t)(end - at)))) {
        if (end - at > 2 && at[1] == 'P' && at[2] == 'I')
            return true;
        at++;
    }
    return false;
}

static bool has_mpi_symbol(const struct qmpi_elf_image *image, bool defined)
{
    if (!may_name_mpi(image))
        return false;
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        if (is_mpi_symbol(image, &image->symbols[i], defined))
            return true;
    }
    return false;
}

static bool defines_mpi(const struct qmpi_elf_image *image)
{
    return has_mpi_symbol(image, true);
}

bool qmpi_object_uses_mpi(const struct qmpi_elf_image *image)
{
    return has_mpi_symbol(image, false);
}

struct references {
    bool pmpi, mpi;
};

static void add_reference(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct references *references = data;
    const char *name = relocation->name;
    if (strncmp(name, "MPI", 3) != 0 && strncmp(name, "PMPI", 4) != 0)
        return;
    references->pmpi |= name[0] == 'P' && qmpi_function_find(name + 1) >= 0;
    references->mpi |= name[0] == 'M' && qmpi_function_find(name) >= 0;
}

/* Reads the relocations, because the hash table of a library that exports nothing does not show the
 * number of symbols. */
bool qmpi_object_uses_pmpi_alone(const struct qmpi_elf_loaded *object)
{
    struct references references = {false, false};
    if (!may_name_mpi(&object->image) || defines_mpi(&object->image))
        return false;
    qmpi_elf_visit_relocations(object, add_reference, &references);
    return references.pmpi && !references.mpi;
}

bool qmpi_object_file_is_mpi(const struct qmpi_elf_image *image)
{
    static const char *const names[] = {"PMPI_Get_library_version",
                                        "QMPIX_Get_function",
                                        "pmpi_init_",
                                        "pmpi_init__",
                                        "pmpi_init",
                                        "PMPI_INIT",
                                        "pmpi_init_f08_",
                                        "mpi_init_f08_"};
    /* The first two show an MPI library or a libqmpi; the others show a binding, unless the image
     * also defines MPI_Init. */
    enum { LIBRARIES = 2 };
    bool library = false, binding = false, whole = false;
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        const char *name = qmpi_elf_string(image, image->symbols[i].st_name);
        if ((strncmp(name, "PMPI", 4) && strncmp(name, "pmpi", 4) && strncmp(name, "mpi_", 4) &&
             strncmp(name, "MPI_", 4) && strncmp(name, "QMPIX", 5)) ||
            !qmpi_elf_defines(&image->symbols[i]))
            continue;
        whole |= !strcmp(name, "MPI_Init");
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (!strcmp(name, names[k])) {
                library |= k < LIBRARIES;
                binding |= k >= LIBRARIES;
            }
        }
    }
    return library || (binding && !whole);
}

char *qmpi_object_tool_name(const char *path)
{
    size_t length;
    const char *name = qmpi_text_tool_name(path, &length);
    return qmpi_copy_part(name, length);
}

char *qmpi_object_program_path(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? qmpi_copy_part(path, (size_t)length) : qmpi_copy("the program");
}

/* ---- Objects and addresses ------------------------------------------------------------------- */

static const char here; /* an address in the object that contains this code */
static bool is_idle;
static struct qmpi_elf_loaded own_library; /* libqmpi.so; set by qmpi_object_self_is_idle */

/* Names by which objects are classified. Their hashes are computed once, because they are looked up
 * in every object, some of them often. */
enum mark { LIBRARY, LIBQMPI, MPI_INIT, BINDING, BINDING_LAST = BINDING + 5, MARKS };

static struct qmpi_elf_name marks[MARKS] = {
    [LIBRARY] = {"PMPI_Get_library_version", 0},
    [LIBQMPI] = {"QMPIX_Get_function", 0},
    [MPI_INIT] = {"MPI_Init", 0},
    [BINDING] = {"pmpi_init_", 0},
    {"pmpi_init__", 0},
    {"pmpi_init", 0},
    {"PMPI_INIT", 0},
    {"pmpi_init_f08_", 0},
    {"mpi_init_f08_", 0},
};

static bool has_mark(const struct qmpi_elf_loaded *object, enum mark mark)
{
    uint32_t hash = __atomic_load_n(&marks[mark].hash, __ATOMIC_RELAXED);
    if (!hash) {
        hash = qmpi_elf_hash(marks[mark].name);
        __atomic_store_n(&marks[mark].hash, hash, __ATOMIC_RELAXED);
    }
    return qmpi_elf_loaded_find_hashed(object, (struct qmpi_elf_name){marks[mark].name, hash});
}

bool qmpi_object_is_mpi_library(const struct qmpi_elf_loaded *object)
{
    return has_mark(object, LIBRARY);
}

bool qmpi_object_is_self(const struct qmpi_elf_loaded *object)
{
    return qmpi_elf_loaded_contains(object, &here);
}

bool qmpi_object_is_binding(const struct qmpi_elf_loaded *object)
{
    bool any = false;
    for (int mark = BINDING; mark <= BINDING_LAST && !any; mark++)
        any = has_mark(object, (enum mark)mark);
    return any && !has_mark(object, MPI_INIT); /* otherwise, it is a static MPI library, or a tool
                                                  with wrappers for Fortran */
}

bool qmpi_object_is_mpi(const struct qmpi_elf_loaded *object)
{
    return has_mark(object, LIBRARY) || has_mark(object, LIBQMPI) || qmpi_object_is_binding(object);
}

static bool refers_to(const struct qmpi_elf_image *image, const char *name)
{
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(qmpi_elf_string(image, image->symbols[i].st_name), name))
            return true;
    }
    return false;
}

bool qmpi_object_is_pmpi_tool(const struct qmpi_elf_loaded *object)
{
    const struct qmpi_elf_image *image = &object->image;
    if (qmpi_object_is_self(object) || qmpi_object_is_mpi_library(object))
        return false; /* checked first, because MPI libraries have many symbols */
    return defines_mpi(image) && !qmpi_object_is_binding(object) &&
           !refers_to(image, "QMPI_Register_tool_name");
}

struct address_search {
    const void *address;
    bool found; /* it was found in an MPI library */
};

static int find_mpi_library(struct dl_phdr_info *info, size_t size, void *data)
{
    struct address_search *search = data;
    struct qmpi_elf_loaded object = {
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    (void)size;
    if (!qmpi_elf_loaded_contains(&object, search->address))
        return 0;
    search->found = qmpi_elf_loaded_read(info, &object) && qmpi_object_is_mpi_library(&object) &&
                    !qmpi_object_is_self(&object);
    return 1;
}

bool qmpi_object_mpi_library_contains(const void *address)
{
    struct address_search search = {address, false};
    if (!is_idle)
        qmpi_elf_walk(find_mpi_library, &search);
    return search.found;
}

bool qmpi_object_self_contains(const void *address)
{
    return qmpi_elf_loaded_contains(&own_library, address);
}

bool qmpi_object_read_self(struct qmpi_elf_loaded *self)
{
    return qmpi_elf_loaded_containing(&here, self); /* dladdr would read all symbols */
}

bool qmpi_object_self_is_idle(void)
{
    const void *found = dlsym(RTLD_DEFAULT, "QMPIX_Get_function");
    struct qmpi_elf_loaded own;
    const bool is_known = qmpi_object_read_self(&own);
    is_idle = found && is_known && !qmpi_elf_loaded_contains(&own, found);
    if (!is_idle && is_known && *own.name) /* the program has no name: libqmpi.a is part of it */
        own_library = own;
    return is_idle;
}
