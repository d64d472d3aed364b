/* SPDX-License-Identifier: MIT */
/* See redirect.h. */
#define _GNU_SOURCE
#include "redirect/redirect.h"

#include "config/config.h"
#include "dispatch/dispatch.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/attributes.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Language bindings ----------------------------------------------------------------------- */

/* Some bindings call MPI_X, others PMPI_X; both are calls of the program. A few procedures call
 * further functions for their own purposes; these calls go to the MPI library. */

struct code_range {
    const char *start;
    size_t size;
    struct code_range *next;
};

/* A function that bindings also call for their own purposes. `procedures` is the code of the
 * Fortran procedures of this function. Only they call the function on behalf of the program. */
struct helper {
    int number;
    /* A complete range is added at the front of this list, under the lock and with release. Any
     * call may load the list, with acquire. */
    struct code_range *procedures;
};

enum { COMM_SIZE, CARTDIM_GET, NEIGHBORS_COUNT, CONTIGUOUS, HVECTOR, COMMIT, FREE, SIZE, HELPERS };

static struct helper helpers[HELPERS] = {
    /* called in the w-variants of all-to-all; in Open MPI for each array whose length depends on
     * the number of ranks */
    [COMM_SIZE] = {.number = MPI_COMM_SIZE_T},
    /* called in MPI_Cart_sub; in Open MPI, also in MPI_Cart_rank */
    [CARTDIM_GET] = {.number = MPI_CARTDIM_GET_T},
    /* called in the w-variants of neighborhood all-to-all */
    [NEIGHBORS_COUNT] = {.number = MPI_DIST_GRAPH_NEIGHBORS_COUNT_T},
    /* called for array sections that are not contiguous */
    [CONTIGUOUS] = {.number = MPI_TYPE_CONTIGUOUS_T},
    [HVECTOR] = {.number = MPI_TYPE_CREATE_HVECTOR_T},
    [COMMIT] = {.number = MPI_TYPE_COMMIT_T},
    [FREE] = {.number = MPI_TYPE_FREE_T},
    [SIZE] = {.number = MPI_TYPE_SIZE_T},
};

static qmpi_function *helper_target(const struct helper *helper, const void *caller)
{
    const struct code_range *range = __atomic_load_n(&helper->procedures, __ATOMIC_ACQUIRE);
    for (; range; range = range->next) {
        if ((size_t)((const char *)caller - range->start) < range->size)
            return qmpi_entries[helper->number];
    }
    return __atomic_load_n(&qmpi_pmpi_slots[helper->number], __ATOMIC_ACQUIRE);
}

/* Defines FUNCTION as the replacement of helper H. It chooses the target by its caller. */
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

/* The names of procedures for MPI_X: `before`, then x, then `after`. */
static const struct {
    const char *before, *after;
} binding_names[] = {
    {"mpi_", "_f08_"}, /* MPICH */
    {"pmpir_", "_f08_"},
    {"ompi_", "_f"},           /* Open MPI, whose other bindings call these */
    {"mpi_", "_f08ts_"},       /* since Open MPI 6, for choice buffers */
    {"ompi_", "_wrapper_f08"}, /* some procedures of mpi_f08 in Open MPI 6 */
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

/* Returns whether a function is like MPI_Comm_f2c, which exists in C alone. Bindings call it to
 * convert their arguments. */
static bool is_conversion(const char *function)
{
    const size_t length = strlen(function);
    return length > 4 &&
           (!strcmp(function + length - 4, "_f2c") || !strcmp(function + length - 4, "_c2f"));
}

static void add_procedures(const struct qmpi_elf_loaded *object, struct helper *helper)
{
    const size_t count = qmpi_elf_symbol_count(&object->image);
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &object->image.symbols[i];
        const char *name = qmpi_elf_string(&object->image, symbol->st_name);
        if (!qmpi_elf_defines(symbol) ||
            !is_binding_procedure(name, qmpi_names[helper->number].name))
            continue;
        struct code_range *range = qmpi_allocate(1, sizeof *range);
        *range = (struct code_range){(const char *)(object->base + symbol->st_value),
                                     symbol->st_size + 1, helper->procedures};
        __atomic_store_n(&helper->procedures, range, __ATOMIC_RELEASE);
    }
}

static void *binding_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    const bool pmpi = name[0] == 'P';
    (void)data;
    (void)reference;
    if (strncmp(name + pmpi, "MPI", 3) != 0)
        return NULL;
    void *attributes = qmpi_attributes_target(name);
    if (attributes)
        return attributes;
    const int number = qmpi_function_find(name + pmpi);
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

/* Redirects the references of a binding, and takes ownership of its handle, so that the binding
 * stays loaded. */
static void redirect_binding(struct qmpi_elf_held *held)
{
    const struct qmpi_elf_loaded *object = &held->object;
    held->handle = NULL; /* kept open, because libqmpi still searches it if the program closes it */
    qmpi_binding_add(object);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        add_procedures(object, &helpers[i]);
    char *problem = qmpi_elf_rewrite(object, binding_target, NULL);
    if (problem && qmpi_launcher_reports())
        qmpi_printf("Fortran calls may bypass the tools: %-s", problem);
    free(problem);
}

/* ---- The MPI library ------------------------------------------------------------------------- */

/* Returns the number of the MPI function of this name, or -1 if there is none. */
static int function_number(const char *name)
{
    return strncmp(name, "MPI", 3) ? -1 : qmpi_function_find(name);
}

/* Calls that the MPI library itself makes. By default, they stay within the library; with
 * QMPI_INTERNAL=1, tools see them. */
struct internal_calls {
    const struct qmpi_elf_loaded *library;
    bool shown;
};

static void *internal_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    const struct internal_calls *calls = data;
    const int number = function_number(name[0] == 'P' ? name + 1 : name);
    (void)reference;
    if (number < 0 || !qmpi_entries[number])
        return NULL;
    if (calls->shown)
        return (void *)(uintptr_t)qmpi_entries[number];
    /* The library's symbol MPI_X may lead to libqmpi by now. PMPI_X is the same function. */
    void *found = qmpi_elf_loaded_find_hashed(
        calls->library,
        (struct qmpi_elf_name){qmpi_names[number].name - 1, qmpi_names[number].pmpi_hash});
    if (!found)
        found = (void *)(uintptr_t)qmpi_mpi_library_unpaired(number);
    return found ? found : qmpi_elf_loaded_find(calls->library, name);
}

static char *redirect_internal(const struct qmpi_elf_loaded *library)
{
    const char *setting = qmpi_setting("QMPI_INTERNAL");
    struct internal_calls calls = {library, qmpi_value_is_yes(setting)};
    return qmpi_elf_rewrite(library, internal_target, &calls);
}

static void *entry_point(const char *name)
{
    const int number = function_number(name);
    return number < 0 ? NULL : (void *)(uintptr_t)qmpi_entries[number];
}

/* ---- Objects that bypass libqmpi ------------------------------------------------------------- */

/*
 * In a program that is not position-independent, the address of a library's function must be known
 * when the program is linked. The linker then uses an entry of the program's procedure linkage
 * table, and gives the undefined symbol this value. The loader takes this address for all
 * references in the process, except those that only call the function, so the address is the same
 * everywhere. It is no definition: the entry calls the function that the loader finds in the
 * libraries.
 */
static struct qmpi_elf_loaded program; /* set once, before it is read */

static int read_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (qmpi_elf_loaded_read(info, &program))
        program.image.symbol_count = qmpi_elf_symbol_count(&program.image);
    return 1; /* the program is the first object */
}

static void find_program(void)
{
    qmpi_elf_walk(read_program, NULL);
}

/* Returns the entry of the program's procedure linkage table that is the address of a function for
 * the whole process; NULL: there is none. */
static void *program_entry(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_program);
    for (size_t i = 0; i < program.image.symbol_count; i++) {
        const ElfW(Sym) *symbol = &program.image.symbols[i];
        if (symbol->st_shndx == SHN_UNDEF && symbol->st_value &&
            !strcmp(qmpi_elf_string(&program.image, symbol->st_name), name))
            return (void *)(program.base + symbol->st_value);
    }
    return NULL;
}

/* Returns the targets for an object whose references the loader resolved to the MPI library or a
 * tool, because these come before libqmpi in the search order. find_in_scope has then found the
 * program, so this function, which also runs inside qmpi_elf_walk, waits for no other thread. */
static void *program_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    void *target = entry_point(name);
    void *address = target && reference != QMPI_ELF_REFERENCE_CALL ? program_entry(name) : NULL;
    (void)data;
    return address ? address : target;
}

static int find_definition(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    (void)size;
    *(void **)data =
        qmpi_elf_loaded_read(info, &object) ? qmpi_elf_loaded_find(&object, "MPI_Init") : NULL;
    return *(void **)data != NULL;
}

/* Returns the function that the loader finds in a scope for calls of MPI_Init. */
static const void *find_in_scope(void *scope)
{
    /* Calls the original dlsym, because that of libqmpi would return the entry point. */
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    void *found = look_up(scope, "MPI_Init");
    /* The definition is in a library that is preloaded, or that the program needs. These libraries
     * come before all others, in the order of both scopes. */
    if (found && found != entry_point("MPI_Init") && found == program_entry("MPI_Init"))
        qmpi_elf_walk(find_definition, &found);
    return found;
}

/* Set once it is known that the MPI library precedes libqmpi in the search order. The symbols of
 * the library are then redefined, so that a later look-up would not show this. Relaxed order is
 * enough, because no other data depends on it. */
static bool is_interposed;

bool qmpi_redirect_is_interposed(void)
{
    return __atomic_load_n(&is_interposed, __ATOMIC_RELAXED);
}

/* Returns whether objects that are loaded later may find the MPI library before libqmpi, or no
 * libqmpi at all. This is the case if libqmpi does not come first in the global scope. */
static bool may_be_interposed(void)
{
    void *scope = dlopen(NULL, RTLD_LAZY);
    const bool first = scope && find_in_scope(scope) == entry_point("MPI_Init");
    if (scope)
        dlclose(scope);
    return !first;
}

/* The position of libqmpi in the search order of the loader. */
struct search_order {
    bool is_behind;     /* an object that defines MPI functions comes before libqmpi */
    bool may_be_behind; /* an object may come before libqmpi for objects that are loaded later */
};

/* Returns whether the references of an object bypass libqmpi. */
static bool bypasses(const struct search_order *order, const struct qmpi_elf_loaded *object)
{
    return order->is_behind && !qmpi_preloaded_contains(object->image.dynamic) &&
           !qmpi_pmpi_layer_of(object->image.dynamic) &&
           qmpi_elf_refers(object, program_target, NULL);
}

static bool needs_redirection(void *data, const struct qmpi_elf_loaded *object)
{
    const struct search_order *order = data;
    if (qmpi_object_is_self(object))
        return false;
    return qmpi_object_is_mpi_library(object) ||
           (qmpi_object_is_binding(object) ? !qmpi_binding_is_known(object)
                                           : bypasses(order, object));
}

/* ---- All objects ----------------------------------------------------------------------------- */

QMPI_LOCK(lock);
/* The value of qmpi_elf_load_count before the last call of qmpi_redirect that redirected all
 * objects. It is stored under the lock, with release, after these redirections. A thread that reads
 * the present count here, with acquire, sees all redirections. */
static unsigned long long seen;

static void redirect_object(struct qmpi_elf_held *held, const struct search_order *order)
{
    const struct qmpi_elf_loaded *object = &held->object;
    char *problem = NULL;
    if (qmpi_object_is_mpi_library(object)) {
        problem = redirect_internal(object);
        if (!problem && order->may_be_behind) {
            qmpi_mpi_library_save_unpaired(object);
            problem = qmpi_elf_redefine(object, entry_point);
        }
    } else if (qmpi_object_is_binding(object)) {
        if (!qmpi_binding_is_known(object))
            redirect_binding(held);
    } else if (bypasses(order, object)) {
        problem = qmpi_elf_rewrite(object, program_target, NULL);
    }
    if (problem && qmpi_launcher_reports())
        qmpi_printf("some MPI calls may bypass the tools or be seen twice: %-s", problem);
    free(problem);
}

struct redirection {
    struct search_order order;
    struct qmpi_elf_held *held, *next;
    int count;
};

static void find_new_objects(void *data)
{
    struct redirection *redirection = data;
    const void *found = find_in_scope(RTLD_DEFAULT);
    const void *in_front = found == entry_point("MPI_Init") ? NULL : found;
    redirection->order = (struct search_order){in_front != NULL, may_be_interposed()};
    if (in_front && qmpi_object_mpi_library_contains(in_front))
        __atomic_store_n(&is_interposed, true, __ATOMIC_RELAXED);
    if (in_front)
        qmpi_preloaded_find();
    redirection->held = qmpi_elf_hold(needs_redirection, &redirection->order, &redirection->count);
}

static void redirect_next(void *data)
{
    struct redirection *redirection = data;
    redirect_object(redirection->next, &redirection->order);
}

void qmpi_redirect(void)
{
    const unsigned long long loaded = qmpi_elf_load_count();
    struct redirection redirection = {{false, false}, NULL, NULL, 0};
    const bool has_new_objects = __atomic_load_n(&seen, __ATOMIC_ACQUIRE) != loaded;
    /* If memory is exhausted, the next call redirects the remaining objects. */
    bool good = !has_new_objects || qmpi_memory_catch_exhausted(find_new_objects, &redirection);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < redirection.count; i++) {
        redirection.next = &redirection.held[i];
        good = qmpi_memory_catch_exhausted(redirect_next, &redirection) && good;
    }
    if (qmpi_binding_any)
        qmpi_attributes_prepare();
    if (has_new_objects && good)
        __atomic_store_n(&seen, loaded, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    qmpi_elf_release(redirection.held, redirection.count);
}

bool qmpi_redirect_is_binding(const void *address)
{
    if (!qmpi_binding_holds(address))
        qmpi_redirect();
    return qmpi_binding_holds(address);
}
