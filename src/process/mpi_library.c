/* SPDX-License-Identifier: MIT */
/* See mpi_library.h. */
#define _GNU_SOURCE
#include "process/mpi_library.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "process/classify.h"
#include "process/handles.h"
#include "process/mpi_kind.h"
#include "util/util.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

qmpi_function *qmpi_bases[QMPI_FUNCTION_COUNT];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct qmpi_elf_loaded library; /* its name is copied; its other pointers live on */
static enum qmpi_mpi_kind kind;
static char *mismatch;

struct search {
    struct qmpi_elf_loaded best;
    int functions; /* how many of the PMPI functions that we know `best` defines */
    qmpi_function *found[QMPI_FUNCTION_COUNT]; /* those; NULL: it does not */
    char *other;                               /* the path of another libqmpi; NULL: none */
};

static int find_functions(const struct qmpi_elf_loaded *object, qmpi_function **found)
{
    const struct qmpi_elf_image *image = &object->image;
    const bool hashed = image->gnu_hash != NULL;
    const struct qmpi_elf_table table =
        hashed ? qmpi_elf_table_of(image) : (struct qmpi_elf_table){.bloom = NULL};
    int count = 0;
    for (int number = 0; number < qmpi_name_count; number++) {
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

/* The libqmpi of another MPI, where it was preloaded beside this one. */
static bool is_other_libqmpi(const struct qmpi_elf_loaded *object)
{
    return *object->name && qmpi_elf_loaded_find(object, "QMPIX_Get_function");
}

/* A tool may define some PMPI functions too (Darshan does): the MPI library defines most of them.
 */
static int consider(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) || !qmpi_elf_loaded_find(&object, "PMPI_Init") ||
        qmpi_is_self(&object))
        return 0;
    if (is_other_libqmpi(&object)) {
        if (!search->other)
            search->other = qmpi_copy(object.name);
        return 0;
    }
    qmpi_function *found[QMPI_FUNCTION_COUNT];
    const int functions = find_functions(&object, found);
    qmpi_debug(QMPI_TOPIC_BASE, "%s defines %d PMPI functions",
               *object.name ? object.name : "the program", functions);
    if (functions > search->functions) {
        search->best = object;
        search->functions = functions;
        memcpy(search->found, found, (size_t)qmpi_name_count * sizeof *found);
    }
    return 0;
}

static bool has(int number)
{
    return qmpi_bases[number] && qmpi_bases[number] != qmpi_missing[number];
}

/* Called by one of qmpi_missing, in the place of a function: the program has no other way on. */
void qmpi_base_lacks(int number)
{
    int initialized = 0, finalized = 0;
    qmpi_printf("%s was called, but %s does not provide it\n"
                "hint: run the program with an MPI library that has this function",
                qmpi_names[number].name, qmpi_base_path());
    if (has(MPI_INITIALIZED_T) && has(MPI_FINALIZED_T)) {
        QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
        QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    }
    /* A launcher may drop what it has not yet read from a process of a job that is aborted. */
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    if (initialized && !finalized && has(MPI_ABORT_T))
        QMPI_PMPI(Abort, ABORT)(MPI_COMM_WORLD, 2);
    _exit(2);
}

/* Where the program's MPI library is of a kind that this libqmpi is not built for. */
static void note_mismatch(const char *other)
{
    kind = qmpi_mpi_kind_of(&library.image);
    if (kind == QMPI_MPI_UNKNOWN) {
        mismatch = qmpi_message(
            "the program uses %s, which is neither MPICH nor Open MPI, nor has the standard ABI\n"
            "hint: run the program without tools, or build it with one of these",
            qmpi_base_path());
        return;
    }
    const struct qmpi_mpi_description *mpi = &qmpi_mpi_descriptions[kind];
    if (strcmp(mpi->build, QMPI_MPI) == 0)
        return;
    if (other)
        mismatch = qmpi_message("the program uses %s (%s), but this libqmpi was built for %s\n"
                                "hint: LD_PRELOAD also contains %s: preload only the libqmpi of "
                                "the program's MPI, or use `qmpi run`, which chooses it",
                                mpi->name, qmpi_base_path(), QMPI_MPI, other);
    else
        mismatch = qmpi_message("the program uses %s (%s), but this libqmpi was built for %s\n"
                                "hint: use `qmpi run --mpi=%s` if qmpi is installed for this MPI; "
                                "otherwise build and install it: meson setup -Dmpi=%s",
                                mpi->name, qmpi_base_path(), QMPI_MPI, mpi->build, mpi->build);
}

/* MPICH 5's library with the standard ABI has MPI_File_close, but not PMPI_File_close. */
static qmpi_function *unpaired[QMPI_FUNCTION_COUNT];

void qmpi_base_save_unpaired(const struct qmpi_elf_loaded *object)
{
    static bool saved;
    qmpi_function *found[QMPI_FUNCTION_COUNT];
    if (saved)
        return;
    saved = true;
    find_functions(object, found);
    for (int number = 0; number < qmpi_name_count; number++) {
        if (qmpi_names[number].exists && !found[number])
            unpaired[number] =
                (qmpi_function *)(uintptr_t)qmpi_elf_loaded_find(object, qmpi_names[number].name);
    }
}

qmpi_function *qmpi_base_unpaired(int number)
{
    return unpaired[number];
}

static qmpi_function *find_without_pmpi(int number)
{
    if (unpaired[number])
        return unpaired[number];
    return (qmpi_function *)(uintptr_t)qmpi_elf_loaded_find(&library, qmpi_names[number].name);
}

static void find(void)
{
    struct search search = {.functions = 0};
    qmpi_elf_walk(consider, &search);
    if (!search.functions) {
        /* A program may reach MPI through us alone (linked with -lqmpi only). */
        if (!dlopen(QMPI_MPI_SONAME, RTLD_NOW | RTLD_GLOBAL)) {
            qmpi_printf("no MPI library is loaded, and %s cannot be loaded: %s\n"
                        "hint: link the program with its MPI library",
                        QMPI_MPI_SONAME, dlerror());
            _exit(2);
        }
        qmpi_elf_walk(consider, &search);
    }
    library = search.best;
    library.name = qmpi_copy(library.name);
    note_mismatch(search.other);
    free(search.other);
    qmpi_handles_find(&library);
    for (int number = 0; number < qmpi_name_count; number++) {
        if (!qmpi_names[number].exists)
            continue;
        qmpi_function *base =
            search.found[number] ? search.found[number] : find_without_pmpi(number);
        qmpi_bases[number] = base ? base : qmpi_missing[number];
    }
    qmpi_debug(QMPI_TOPIC_BASE, "the base is %s (%s), %d functions", qmpi_base_path(),
               qmpi_base_soname(), search.functions);
}

/*
 * A program may close it, and open it again. Nobody waits for who does this, whom a thread in a
 * constructor may keep from using the loader.
 */
static void pin(void)
{
    static bool begun;
    if (*library.name && !__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED))
        dlopen(library.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void qmpi_base_find(void)
{
    pthread_once(&once, find);
    pin();
}

void *qmpi_base_symbol(const char *name)
{
    void *found = library.name ? qmpi_elf_loaded_find(&library, name) : NULL;
    return found ? found : qmpi_handles_symbol(name);
}

const char *qmpi_base_mismatch(void)
{
    return mismatch;
}

enum qmpi_mpi_kind qmpi_base_implementation(void)
{
    return kind == QMPI_MPI_ABI ? qmpi_mpi_implementation_of(&library.image) : kind;
}

const char *qmpi_base_soname(void)
{
    const char *name = qmpi_elf_soname(&library.image);
    return name ? name : "no soname";
}

const char *qmpi_base_path(void)
{
    return library.name && *library.name ? library.name : "the program itself";
}
