/* SPDX-License-Identifier: MIT */
/* See binding.h. */
#define _GNU_SOURCE
#include "binding.h"

#include "chain.h"
#include "elf_rewrite.h"
#include "message.h"
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINDINGS_MAX = 8 };
static struct qmpi_elf_loaded bindings[BINDINGS_MAX];
static int binding_count;

bool qmpi_binding_is(const struct qmpi_elf_loaded *object)
{
    static const char *const marks[] = {"pmpi_init_", "pmpi_init__",    "pmpi_init",
                                        "PMPI_INIT",  "pmpi_init_f08_", "mpi_init_f08_"};
    if (qmpi_elf_loaded_find(object, "MPI_Init"))
        return false; /* a static MPI library, or a tool with wrappers for Fortran */
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (qmpi_elf_loaded_find(object, marks[i]))
            return true;
    }
    return false;
}

int qmpi_binding_count(void)
{
    return __atomic_load_n(&binding_count, __ATOMIC_ACQUIRE);
}

void *qmpi_binding_find(const char *name)
{
    void *procedure = NULL;
    for (int i = 0; !procedure && i < qmpi_binding_count(); i++)
        procedure = qmpi_elf_loaded_find(&bindings[i], name);
    return procedure;
}

bool qmpi_binding_holds(const void *address)
{
    const int count = qmpi_binding_count();
    for (int i = 0; i < count; i++) {
        if (qmpi_elf_loaded_contains(&bindings[i], address))
            return true;
    }
    return false;
}

/* ---- Functions that procedures of another name call for their own needs -------------------------
 */

struct range {
    const char *start;
    size_t size;
};

/* For each such function: where in the bindings it is called because the program called it. */
struct helper {
    int number;
    const char *procedures[2];
    struct range own[2 * BINDINGS_MAX];
    int count;
};

static struct helper helpers[] = {
    /* in the w-variants of all-to-all */
    {MPI_COMM_SIZE_T, {"mpi_comm_size_f08_", "pmpir_comm_size_f08_"}, {{NULL, 0}}, 0},
    /* in MPI_Cart_sub */
    {MPI_CARTDIM_GET_T, {"mpi_cartdim_get_f08_", "pmpir_cartdim_get_f08_"}, {{NULL, 0}}, 0},
    /* in the w-variants of neighbourhood all-to-all */
    {MPI_DIST_GRAPH_NEIGHBORS_COUNT_T,
     {"mpi_dist_graph_neighbors_count_f08_", "pmpir_dist_graph_neighbors_count_f08_"},
     {{NULL, 0}},
     0},
};

static qmpi_function *way_of(const struct helper *helper, const void *caller)
{
    for (int i = 0; i < helper->count; i++) {
        if ((size_t)((const char *)caller - helper->own[i].start) < helper->own[i].size)
            return qmpi_entries[helper->number];
    }
    return qmpi_pmpi_slots[helper->number];
}

static int comm_size(MPI_Comm comm, int *size)
{
    return ((int (*)(MPI_Comm, int *))way_of(&helpers[0], __builtin_return_address(0)))(comm, size);
}

static int cartdim_get(MPI_Comm comm, int *count)
{
    return ((int (*)(MPI_Comm, int *))way_of(&helpers[1], __builtin_return_address(0)))(comm,
                                                                                        count);
}

static int neighbors_count(MPI_Comm comm, int *in, int *out, int *weighted)
{
    return ((int (*)(MPI_Comm, int *, int *, int *))way_of(
        &helpers[2], __builtin_return_address(0)))(comm, in, out, weighted);
}

static qmpi_function *const helper_ways[] = {
    (qmpi_function *)comm_size, (qmpi_function *)cartdim_get, (qmpi_function *)neighbors_count};

static void note_own_ranges(const struct qmpi_elf_loaded *object, struct helper *helper)
{
    for (size_t i = 0; i < object->image.symbol_count; i++) {
        const ElfW(Sym) *symbol = &object->image.symbols[i];
        const char *name = qmpi_elf_string(&object->image, symbol->st_name);
        if (!qmpi_elf_defines(symbol) ||
            (strcmp(name, helper->procedures[0]) != 0 && strcmp(name, helper->procedures[1]) != 0))
            continue;
        helper->own[helper->count++] =
            (struct range){(const char *)(object->base + symbol->st_value), symbol->st_size + 1};
    }
}

/* ---- Redirecting --------------------------------------------------------------------------------
 */

static void *target_of(void *data, const char *name, enum qmpi_binding binding)
{
    const bool pmpi = name[0] == 'P';
    (void)data;
    (void)binding;
    if (strncmp(name + pmpi, "MPI", 3) != 0)
        return NULL;
    const int number = qmpi_name_find(name + pmpi);
    if (number < 0 || !qmpi_entries[number])
        return NULL;
    /* Every procedure for files converts its handle. */
    if (number == MPI_FILE_F2C_T || number == MPI_FILE_C2F_T)
        return (void *)(uintptr_t)qmpi_pmpi_slots[number];
    for (size_t i = 0; pmpi && i < sizeof helpers / sizeof *helpers; i++) {
        if (helpers[i].number == number)
            return (void *)(uintptr_t)helper_ways[i];
    }
    return (void *)(uintptr_t)qmpi_entries[number];
}

void qmpi_binding_redirect(const struct qmpi_elf_loaded *object)
{
    if (binding_count == BINDINGS_MAX)
        return;
    bindings[binding_count] = *object;
    bindings[binding_count].name = qmpi_copy(object->name);
    __atomic_store_n(&binding_count, binding_count + 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        note_own_ranges(object, &helpers[i]);
    char *problem = qmpi_elf_rewrite(object, target_of, NULL);
    if (problem && qmpi_speaks())
        qmpi_sayf("Fortran calls may pass by the tools: %s", problem);
    free(problem);
}
