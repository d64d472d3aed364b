/* SPDX-License-Identifier: MIT */
/* See classify.h. */
#define _GNU_SOURCE
#include "process/classify.h"

#include "elf/elf.h"
#include "process/linkage.h"
#include "process/mpi_symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static const char here; /* an address in what we are in */
static bool idle;
static struct qmpi_elf_loaded ours; /* libqmpi.so, once it has begun */

/* What tells MPI's libraries by what they define. Every object is asked for these names, some of
 * them often: their hashes are computed once. */
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

static bool has(const struct qmpi_elf_loaded *object, enum mark mark)
{
    uint32_t hash = __atomic_load_n(&marks[mark].hash, __ATOMIC_RELAXED);
    if (!hash) {
        hash = qmpi_elf_hash(marks[mark].name);
        __atomic_store_n(&marks[mark].hash, hash, __ATOMIC_RELAXED);
    }
    return qmpi_elf_loaded_find_hashed(object, (struct qmpi_elf_name){marks[mark].name, hash});
}

bool qmpi_is_mpi_library(const struct qmpi_elf_loaded *object)
{
    return has(object, LIBRARY);
}

bool qmpi_is_self(const struct qmpi_elf_loaded *object)
{
    return qmpi_elf_loaded_contains(object, &here);
}

bool qmpi_is_binding(const struct qmpi_elf_loaded *object)
{
    bool any = false;
    for (int mark = BINDING; mark <= BINDING_LAST && !any; mark++)
        any = has(object, (enum mark)mark);
    return any && !has(object, MPI_INIT); /* a static MPI library, or a tool with wrappers for
                                             Fortran */
}

bool qmpi_is_mpi(const struct qmpi_elf_loaded *object)
{
    return has(object, LIBRARY) || has(object, LIBQMPI) || qmpi_is_binding(object);
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

bool qmpi_is_pmpi_tool(const struct qmpi_elf_loaded *object)
{
    const struct qmpi_elf_image *image = &object->image;
    if (qmpi_is_self(object) || qmpi_is_mpi_library(object))
        return false; /* they have many symbols */
    return qmpi_mpi_symbols_defined(image) && !qmpi_is_binding(object) &&
           !refers_to(image, "QMPI_Register_tool_name");
}

struct question {
    const void *address;
    bool answer;
};

static int ask(struct dl_phdr_info *info, size_t size, void *data)
{
    struct question *question = data;
    struct qmpi_elf_loaded object = {
        .base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum};
    (void)size;
    if (!qmpi_elf_loaded_contains(&object, question->address))
        return 0;
    question->answer = qmpi_elf_loaded_read(info, &object) && qmpi_is_mpi_library(&object) &&
                       !qmpi_is_self(&object);
    return 1;
}

bool qmpi_is_in_mpi_library(const void *address)
{
    struct question question = {address, false};
    if (!idle)
        qmpi_elf_walk(ask, &question);
    return question.answer;
}

bool qmpi_is_in_self(const void *address)
{
    return qmpi_elf_loaded_contains(&ours, address);
}

bool qmpi_self_read(struct qmpi_elf_loaded *self)
{
    return qmpi_elf_loaded_holder(&here, self); /* not by dladdr, which looks at all symbols */
}

bool qmpi_self_is_idle(void)
{
    const void *found = dlsym(RTLD_DEFAULT, "QMPIX_Get_function");
    struct qmpi_elf_loaded mine;
    idle = found && qmpi_self_read(&mine) && !qmpi_elf_loaded_contains(&mine, found);
    if (!idle && !qmpi_is_static) /* there the frames of the program itself are looked for */
        qmpi_self_read(&ours);
    return idle;
}
