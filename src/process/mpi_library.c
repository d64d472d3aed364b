/* SPDX-License-Identifier: MIT */
/* See mpi_library.h. */
#define _GNU_SOURCE
#include "process/mpi_library.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "process/mpi_kind.h"
#include "process/object.h"
#include "util/util.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

qmpi_function *qmpi_pmpi_functions[QMPI_FUNCTION_COUNT];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct qmpi_elf_loaded library; /* stays loaded; its name is a copy */
static enum qmpi_mpi_kind kind;
static char *mismatch;

/* ---- Predefined handles ---------------------------------------------------------------------- */

/*
 * In MPICH, predefined handles are numbers. In Open MPI, they are addresses of data of the library,
 * to which libqmpi has weak references (weak_handles.h). The loader resolves these if it loads
 * libqmpi together with the program and its MPI library; find_handles resolves them otherwise.
 */
#ifdef OPEN_MPI
static void *handle_target(void *data, const char *name, enum qmpi_elf_reference reference)
{
    (void)reference;
    return strncmp(name, "ompi_", 5) ? NULL : qmpi_elf_loaded_find(data, name);
}

static int bind_weak_handles(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !qmpi_object_is_self(&object))
        return 0;
    char *problem = qmpi_elf_rewrite(&object, handle_target, data);
    if (problem)
        qmpi_printf("observers cannot recognize MPI's predefined handles: %-s", problem);
    free(problem);
    return 1;
}

/* Whether the loader has resolved the references, perhaps to copies of the data in the program. */
static bool are_bound(void)
{
    return &ompi_mpi_comm_world != NULL;
}

static bool has_handles(const struct qmpi_elf_loaded *object)
{
    return qmpi_elf_loaded_find(object, "ompi_mpi_comm_world") != NULL;
}

/* Finds the library with the data of the predefined handles. The program is not considered, because
 * it may contain copies of these data. */
static int find_data_library(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded *found = data, object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !*object.name || !has_handles(&object))
        return 0;
    *found = object;
    return 1;
}

/* The library with the data: since Open MPI 6, one that the MPI library needs. */
static struct qmpi_elf_loaded data_library;

static void find_handles(const struct qmpi_elf_loaded *mpi_library)
{
    data_library = *mpi_library;
    if (!has_handles(mpi_library))
        qmpi_elf_walk(find_data_library, &data_library);
    if (!are_bound() && has_handles(&data_library))
        qmpi_elf_walk(bind_weak_handles, &data_library);
}

/* Returns the address of a symbol of the library that holds the data; NULL: not defined. */
static void *find_in_data_library(const char *name)
{
    return data_library.name ? qmpi_elf_loaded_find(&data_library, name) : NULL;
}
#else
static void find_handles(const struct qmpi_elf_loaded *mpi_library)
{
    (void)mpi_library;
}

/* Returns the address of a symbol of the library with the data; NULL: not defined. */
static void *find_in_data_library(const char *name)
{
    (void)name;
    return NULL;
}
#endif

/* ---- The library ----------------------------------------------------------------------------- */

struct library_search {
    struct qmpi_elf_loaded best;
    int functions; /* number of known PMPI functions that `best` defines */
    qmpi_function *found[QMPI_FUNCTION_COUNT]; /* by number; NULL: not defined */
    char *other;                               /* the path of another libqmpi; NULL: none */
};

static int find_pmpi_functions(const struct qmpi_elf_loaded *object, qmpi_function **found)
{
    const struct qmpi_elf_image *image = &object->image;
    const bool hashed = image->gnu_hash != NULL;
    const struct qmpi_elf_table table =
        hashed ? qmpi_elf_table_of(image) : (struct qmpi_elf_table){.bloom = NULL};
    int count = 0;
    for (int number = 0; number < qmpi_name_count; number++) {
        /* The name of PMPI_X: a P precedes each name MPI_X (functions/functions.h). */
        const struct qmpi_elf_name name = {qmpi_names[number].name - 1,
                                           qmpi_names[number].pmpi_hash};
        const ElfW(Sym) *symbol = hashed ? qmpi_elf_table_find(image, table, name) : NULL;
        const void *address = symbol    ? qmpi_elf_loaded_address(object, symbol)
                              : !hashed ? qmpi_elf_loaded_find_hashed(object, name)
                                        : NULL;
        found[number] = (qmpi_function *)(uintptr_t)address;
        count += address != NULL;
    }
    return count;
}

/* Whether an object is the libqmpi of another MPI, which was preloaded together with this one. */
static bool is_other_libqmpi(const struct qmpi_elf_loaded *object)
{
    return *object->name && qmpi_elf_loaded_find(object, "QMPIX_Get_function");
}

/* Whether an object may be the MPI library. A tool may define some PMPI functions, too, and may be
 * loaded before the MPI library; Darshan does. The program may contain any part of an MPI
 * library. */
static bool may_be_library(const struct qmpi_elf_loaded *object)
{
    return !*object->name || qmpi_object_is_mpi_library(object) ||
           qmpi_mpi_kind_of(&object->image) != QMPI_MPI_UNKNOWN; /* a library that lacks
                                                                    PMPI_Get_library_version */
}

/* Finds the object that defines most of the functions. */
static int compare_library(struct dl_phdr_info *info, size_t size, void *data)
{
    struct library_search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !qmpi_elf_loaded_find(&object, "PMPI_Init") ||
        qmpi_object_is_self(&object) || !may_be_library(&object))
        return 0;
    if (is_other_libqmpi(&object)) {
        if (!search->other)
            search->other = qmpi_copy(object.name);
        return 0;
    }
    qmpi_function *found[QMPI_FUNCTION_COUNT];
    const int functions = find_pmpi_functions(&object, found);
    qmpi_debug(QMPI_TOPIC_MPI_LIBRARY, "%s defines %d PMPI functions",
               *object.name ? object.name : "the program", functions);
    if (functions > search->functions) {
        search->best = object;
        search->functions = functions;
        memcpy(search->found, found, (size_t)qmpi_name_count * sizeof *found);
    }
    return 0;
}

bool qmpi_mpi_library_provides(int number)
{
    return qmpi_pmpi_functions[number] && qmpi_pmpi_functions[number] != qmpi_missing[number];
}

/* Called by a function of qmpi_missing. The program cannot continue. */
void qmpi_mpi_library_lacks(int number)
{
    int initialized = 0, finalized = 0;
    qmpi_printf("%s was called, but %s does not provide it\n"
                "hint: run the program with an MPI library that has this function",
                qmpi_names[number].name, qmpi_mpi_library_path());
    if (qmpi_mpi_library_provides(MPI_INITIALIZED_T) &&
        qmpi_mpi_library_provides(MPI_FINALIZED_T)) {
        QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
        QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    }
    /* Waits, because a launcher may lose output that it has not read when a job is aborted. */
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    if (initialized && !finalized && qmpi_mpi_library_provides(MPI_ABORT_T))
        QMPI_PMPI(Abort, ABORT)(MPI_COMM_WORLD, 2);
    _exit(2);
}

/* Sets `kind`, and sets `mismatch` unless this libqmpi was built for this kind of MPI library.
 * `other` is the path of another libqmpi; NULL: none. */
static void check_kind(const char *other)
{
    kind = qmpi_mpi_kind_of(&library.image);
    if (kind == QMPI_MPI_UNKNOWN) {
        mismatch = qmpi_message(
            "the program uses %s, which is neither MPICH nor Open MPI, nor has the standard ABI\n"
            "hint: run the program without tools, or build it with one of these",
            qmpi_mpi_library_path());
        return;
    }
    const struct qmpi_mpi_description *mpi = &qmpi_mpi_descriptions[kind];
    if (strcmp(mpi->build, QMPI_MPI) == 0)
        return;
    if (other)
        mismatch = qmpi_message("the program uses %s (%s), but this libqmpi was built for %s\n"
                                "hint: LD_PRELOAD also contains %s: preload only the libqmpi of "
                                "the program's MPI, or use `qmpi run`, which chooses it",
                                mpi->name, qmpi_mpi_library_path(), QMPI_MPI, other);
    else
        mismatch =
            qmpi_message("the program uses %s (%s), but this libqmpi was built for %s\n"
                         "hint: use `qmpi run --mpi=%s` if qmpi is installed for this MPI; "
                         "otherwise build and install it: meson setup -Dmpi=%s",
                         mpi->name, qmpi_mpi_library_path(), QMPI_MPI, mpi->build, mpi->build);
}

/* MPI functions without a PMPI function: MPICH 5's library with the standard ABI has
 * MPI_File_close, but not PMPI_File_close. */
static qmpi_function *unpaired[QMPI_FUNCTION_COUNT];

void qmpi_mpi_library_save_unpaired(const struct qmpi_elf_loaded *object)
{
    static bool saved;
    qmpi_function *found[QMPI_FUNCTION_COUNT];
    if (saved)
        return;
    saved = true;
    find_pmpi_functions(object, found);
    for (int number = 0; number < qmpi_name_count; number++) {
        if (qmpi_names[number].exists && !found[number])
            unpaired[number] =
                (qmpi_function *)(uintptr_t)qmpi_elf_loaded_find(object, qmpi_names[number].name);
    }
}

qmpi_function *qmpi_mpi_library_unpaired(int number)
{
    return unpaired[number];
}

static qmpi_function *find_without_pmpi(int number)
{
    if (unpaired[number])
        return unpaired[number];
    return (qmpi_function *)(uintptr_t)qmpi_elf_loaded_find(&library, qmpi_names[number].name);
}

static void load_mpi_library(void)
{
    struct library_search search = {.functions = 0};
    qmpi_elf_walk(compare_library, &search);
    if (!search.functions) {
        /* The program may be linked with -lqmpi only, so that no MPI library is loaded yet. */
        if (!dlopen(QMPI_MPI_SONAME, RTLD_NOW | RTLD_GLOBAL)) {
            qmpi_printf("no MPI library is loaded, and %s cannot be loaded: %s\n"
                        "hint: link the program with its MPI library",
                        QMPI_MPI_SONAME, dlerror());
            _exit(2);
        }
        qmpi_elf_walk(compare_library, &search);
    }
    if (!search.functions) {
        qmpi_printf("%s is no MPI library: it does not define PMPI_Init and "
                    "PMPI_Get_library_version\n"
                    "  hint: run ldd to see which libraries the program uses",
                    QMPI_MPI_SONAME);
        _exit(2);
    }
    library = search.best;
    library.name = qmpi_copy(library.name);
    check_kind(search.other);
    free(search.other);
    find_handles(&library);
    for (int number = 0; number < qmpi_name_count; number++) {
        if (!qmpi_names[number].exists)
            continue;
        qmpi_function *found =
            search.found[number] ? search.found[number] : find_without_pmpi(number);
        qmpi_pmpi_functions[number] = found ? found : qmpi_missing[number];
    }
    qmpi_debug(QMPI_TOPIC_MPI_LIBRARY, "the MPI library is %s (%s), %d functions",
               qmpi_mpi_library_path(), qmpi_mpi_library_soname(), search.functions);
}

/*
 * Keeps the library loaded even if the program closes it. Threads do not wait for the one that does
 * this, because a thread in a constructor may hold the loader's lock.
 */
static void keep_library(void)
{
    /* Set by the first call. No other data depends on it, so relaxed order suffices. */
    static bool is_kept;
    if (*library.name && !__atomic_exchange_n(&is_kept, true, __ATOMIC_RELAXED))
        dlopen(library.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void qmpi_mpi_library_find(void)
{
    pthread_once(&once, load_mpi_library);
    keep_library();
}

void *qmpi_mpi_library_symbol(const char *name)
{
    void *found = library.name ? qmpi_elf_loaded_find(&library, name) : NULL;
    return found ? found : find_in_data_library(name);
}

const char *qmpi_mpi_library_mismatch(void)
{
    return mismatch;
}

enum qmpi_mpi_kind qmpi_mpi_library_implementation(void)
{
    return kind == QMPI_MPI_ABI ? qmpi_mpi_implementation_of(&library.image) : kind;
}

const char *qmpi_mpi_library_soname(void)
{
    const char *name = qmpi_elf_soname(&library.image);
    return name ? name : "no soname";
}

const char *qmpi_mpi_library_path(void)
{
    return library.name && *library.name ? library.name : "the program itself";
}
