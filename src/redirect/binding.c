/* SPDX-License-Identifier: MIT */
/* See binding.h. */
#define _GNU_SOURCE
#include "redirect/binding.h"

#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "process/process.h"
#include "redirect/attributes.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Functions that procedures of another name call for their own needs ---------------------- */

struct range {
    const char *start;
    size_t size;
    struct range *next;
};

/* For each such function: where in the bindings it is called because the program called it. */
struct helper {
    int number;
    struct range *binding_range; /* grows in front */
};

enum { COMM_SIZE, CARTDIM_GET, NEIGHBORS_COUNT, CONTIGUOUS, HVECTOR, COMMIT, FREE, SIZE, HELPERS };

static struct helper helpers[HELPERS] = {
    /* called in the w-variants of all-to-all; in Open MPI for every array of a length by ranks */
    [COMM_SIZE] = {.number = MPI_COMM_SIZE_T},
    [CARTDIM_GET] = {.number = MPI_CARTDIM_GET_T}, /* in MPI_Cart_sub; in Open MPI MPI_Cart_rank */
    /* in the w-variants of neighborhood all-to-all */
    [NEIGHBORS_COUNT] = {.number = MPI_DIST_GRAPH_NEIGHBORS_COUNT_T},
    /* for array sections that are not contiguous */
    [CONTIGUOUS] = {.number = MPI_TYPE_CONTIGUOUS_T},
    [HVECTOR] = {.number = MPI_TYPE_CREATE_HVECTOR_T},
    [COMMIT] = {.number = MPI_TYPE_COMMIT_T},
    [FREE] = {.number = MPI_TYPE_FREE_T},
    [SIZE] = {.number = MPI_TYPE_SIZE_T},
};

static qmpi_function *helper_target(const struct helper *helper, const void *caller)
{
    const struct range *binding_range = __atomic_load_n(&helper->binding_range, __ATOMIC_ACQUIRE);
    for (; binding_range; binding_range = binding_range->next) {
        if ((size_t)((const char *)caller - binding_range->start) < binding_range->size)
            return qmpi_entries[helper->number];
    }
    return qmpi_pmpi_slots[helper->number];
}

/* Stands in for helper H of the signature int (…): asks who calls, and calls on. */
#define HELPER(H, FUNCTION, PARAMETERS, ARGUMENTS)                                                 \
    static int FUNCTION PARAMETERS                                                                 \
    {                                                                                              \
        return (                                                                                   \
            (int(*) PARAMETERS)helper_target(&helpers[H], __builtin_return_address(0)))ARGUMENTS;  \
    }
HELPER(COMM_SIZE, comm_size, (MPI_Comm comm, int *size), (comm, size))
HELPER(CARTDIM_GET, cartdim_get, (MPI_Comm comm, int *count), (comm, count))
HELPER(NEIGHBORS_COUNT, neighbors_count, (MPI_Comm comm, int *in, int *out, int *weighted),
       (comm, in, out, weighted))
HELPER(CONTIGUOUS, contiguous, (int count, MPI_Datatype from, MPI_Datatype *to), (count, from, to))
HELPER(HVECTOR, hvector,
       (int count, int length, MPI_Aint stride, MPI_Datatype from, MPI_Datatype *to),
       (count, length, stride, from, to))
HELPER(COMMIT, commit, (MPI_Datatype * type), (type))
HELPER(FREE, free_type, (MPI_Datatype * type), (type))
HELPER(SIZE, type_size, (MPI_Datatype type, int *size), (type, size))

static qmpi_function *const helper_targets[HELPERS] = {
    [COMM_SIZE] = (qmpi_function *)comm_size,
    [CARTDIM_GET] = (qmpi_function *)cartdim_get,
    [NEIGHBORS_COUNT] = (qmpi_function *)neighbors_count,
    [CONTIGUOUS] = (qmpi_function *)contiguous,
    [HVECTOR] = (qmpi_function *)hvector,
    [COMMIT] = (qmpi_function *)commit,
    [FREE] = (qmpi_function *)free_type,
    [SIZE] = (qmpi_function *)type_size,
};

/* The names of the procedure that stands for MPI_X in Fortran: before and after its x. */
static const struct {
    const char *before, *after;
} binding_names[] = {
    {"mpi_", "_f08_"}, /* MPICH */
    {"pmpir_", "_f08_"},
    {"ompi_", "_f"},           /* Open MPI, whose other bindings call these */
    {"mpi_", "_f08ts_"},       /* since Open MPI 6, for choice buffers */
    {"ompi_", "_wrapper_f08"}, /* in Open MPI 6 some of mpi_f08 */
    {"mpi_", "_"},             /* MPICH, without mpi_f08 */
};

static bool is_binding_procedure(const char *symbol, const char *function)
{
    const size_t length = strlen(function) - 4;
    for (size_t i = 0; i < sizeof binding_names / sizeof *binding_names; i++) {
        const size_t before = strlen(binding_names[i].before);
        if (!strncmp(symbol, binding_names[i].before, before) &&
            !strncasecmp(symbol + before, function + 4, length) &&
            !strcmp(symbol + before + length, binding_names[i].after))
            return true;
    }
    return false;
}

/* MPI_Comm_f2c and its like: C's alone. Bindings call them to convert their arguments. */
static bool is_conversion(const char *function)
{
    const size_t length = strlen(function);
    return length > 4 &&
           (!strcmp(function + length - 4, "_f2c") || !strcmp(function + length - 4, "_c2f"));
}

static void note_binding_ranges(const struct qmpi_elf_loaded *object, struct helper *helper)
{
    const size_t count = qmpi_elf_symbol_count(&object->image);
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &object->image.symbols[i];
        const char *name = qmpi_elf_string(&object->image, symbol->st_name);
        if (!qmpi_elf_defines(symbol) ||
            !is_binding_procedure(name, qmpi_names[helper->number].name))
            continue;
        struct range *binding_range = qmpi_allocate(1, sizeof *binding_range);
        *binding_range = (struct range){(const char *)(object->base + symbol->st_value),
                                        symbol->st_size + 1, helper->binding_range};
        __atomic_store_n(&helper->binding_range, binding_range, __ATOMIC_RELEASE);
    }
}

/* ---- Redirecting ----------------------------------------------------------------------------- */

static void *target_of(void *data, const char *name, enum qmpi_binding binding)
{
    const bool pmpi = name[0] == 'P';
    (void)data;
    (void)binding;
    if (strncmp(name + pmpi, "MPI", 3) != 0)
        return NULL;
    void *attributes = qmpi_attributes_target(name);
    if (attributes)
        return attributes;
    const int number = qmpi_name_find(name + pmpi);
    if (number < 0 || !qmpi_entries[number])
        return NULL;
    if (is_conversion(name))
        return (void *)(uintptr_t)qmpi_pmpi_slots[number];
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        if (helpers[i].number == number)
            return (void *)(uintptr_t)helper_targets[i];
    }
    return (void *)(uintptr_t)qmpi_entries[number];
}

void qmpi_binding_redirect(struct qmpi_elf_held *held)
{
    const struct qmpi_elf_loaded *object = &held->object;
    held->handle = NULL; /* a program may close it, but we go on looking into it */
    qmpi_binding_add(object);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        note_binding_ranges(object, &helpers[i]);
    char *problem = qmpi_elf_rewrite(object, target_of, NULL);
    if (problem && qmpi_is_reporting_process())
        qmpi_printf("Fortran calls may bypass the tools: %-s", problem);
    free(problem);
}
