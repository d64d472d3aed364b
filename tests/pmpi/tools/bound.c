/* SPDX-License-Identifier: MIT */
/*
 * A simple PMPI tool: each wrapper prints `TOOL MPI_X N`, where N is the number of calls of all
 * wrappers so far, and calls the next function. BINDING selects how the tool finds the next
 * function; meson.build contains the options of the linker. In MPI_Finalize, the tool prints the
 * protection of its pages and, if possible, the library of the next function (note_next).
 */
#define _GNU_SOURCE
#include "functions.h"
#include "trace.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Values of BINDING. */
#define BY_CALL 1     /* the compiler's choice: a call of PMPI_X */
#define BY_ADDRESS 2  /* the address of PMPI_X, taken in the function */
#define BY_TABLE 3    /* a table of addresses in writable data */
#define BY_CONSTANT 4 /* a table of addresses that is read-only after relocation */
#define BY_NAME 5     /* dlsym in each wrapper */
#define BY_EARLY 6    /* dlsym in a constructor */
#define BY_HELPER 7   /* PMPI_X is called by a library of the tool (helper.c, passing.c) */

/* With BY_NAME and BY_EARLY: the prefix of the names to look up, and where dlsym searches for
 * them. */
#ifndef NAME
#define NAME "PMPI_"
#endif
#define NEXT_OBJECT 1
#define EVERYWHERE 2
#define MPI_LIBRARY 3
#define SELF_HANDLE 4
#ifndef WHERE
#define WHERE NEXT_OBJECT
#endif

static int calls;

/* bound_constant is in a page that the loader protects after relocation, unless the linker was told
 * not to. Whether the loader also protects the slots of the global offset table depends on the
 * binding. */
extern int *const bound_constant[1];
int *const bound_constant[1] = {&calls};
extern char _GLOBAL_OFFSET_TABLE_[] __attribute__((visibility("hidden")));

#define FIELD(RESULT, X, PARAMETERS, ARGUMENTS) RESULT(*X) PARAMETERS;
#define ADDRESS(RESULT, X, PARAMETERS, ARGUMENTS) .X = PMPI_##X,
struct table {
    FUNCTIONS(FIELD)
};

#if BINDING == BY_TABLE
extern struct table bound_table;
struct table bound_table = {FUNCTIONS(ADDRESS)};
#elif BINDING == BY_CONSTANT
extern const struct table bound_table;
const struct table bound_table = {FUNCTIONS(ADDRESS)};
#elif BINDING == BY_EARLY
static struct table bound_table;
#endif

#if BINDING == BY_NAME || BINDING == BY_EARLY
static void *look_up(const char *name)
{
#if WHERE == NEXT_OBJECT
    void *found = dlsym(RTLD_NEXT, name);
#elif WHERE == EVERYWHERE
    void *found = dlsym(RTLD_DEFAULT, name);
#else
#ifdef OPEN_MPI
    const char *file = "libmpi.so.40";
#elif defined(MPICH_VERSION)
    const char *file = "libmpich.so.12";
#else
    const char *file = "libmpi_abi.so.1";
#endif
#if WHERE == SELF_HANDLE
    Dl_info info;
    file = dladdr(&calls, &info) ? info.dli_fname : "none";
#endif
    void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle ? dlsym(handle, name) : NULL;
#endif
    if (!found) {
        trace("%s finds no %s", TOOL, name);
        abort();
    }
    return found;
}
#endif

#if BINDING == BY_CALL
#define NEXT(X) PMPI_##X
#elif BINDING == BY_ADDRESS
#define NEXT(X)                                                                                    \
    __extension__({                                                                                \
        __typeof__(&PMPI_##X) volatile address = PMPI_##X;                                         \
        address;                                                                                   \
    })
#elif BINDING == BY_NAME
#define NEXT(X) ((__typeof__(&PMPI_##X))(uintptr_t)look_up(NAME #X))
#elif BINDING == BY_HELPER
#ifndef HELPED_BY
#define HELPED_BY helper
#endif
#define DECLARE(RESULT, X, PARAMETERS, ARGUMENTS) RESULT JOINED(HELPED_BY, X) PARAMETERS;
FUNCTIONS(DECLARE)
int JOINED(HELPED_BY, count)(void);
#define NEXT(X) JOINED(HELPED_BY, X)
#define helper_count JOINED(HELPED_BY, count)
#else
/* The access is volatile; otherwise, the compiler could use the initial contents of the table. */
#define NEXT(X) (((const volatile struct table *)&bound_table)->X)
#endif

#if BINDING != BY_HELPER
#define helper_count() 0
#endif

#if BINDING == BY_EARLY
__attribute__((constructor)) static void look_all_up(void)
{
#define LOOK_UP(RESULT, X, PARAMETERS, ARGUMENTS)                                                  \
    bound_table.X = (RESULT(*) PARAMETERS)(uintptr_t)look_up(NAME #X);
    FUNCTIONS(LOOK_UP)
}
#endif

/* Returns the protection of the page of `address`, such as `rw-p`. Increases `*writable_code` if
 * any code is writable. */
static const char *protection(const void *address, int *writable_code)
{
    static char texts[4][8];
    static int index;
    char line[512], flags[8], *text = texts[index++ % 4];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    snprintf(text, sizeof texts[0], "none");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, flags) != 3)
            continue;
        *writable_code += flags[1] == 'w' && flags[2] == 'x';
        if ((unsigned long)address >= start && (unsigned long)address < end)
            snprintf(text, sizeof texts[0], "%s", flags);
    }
    if (maps)
        fclose(maps);
    return text;
}

static void note(const char *function)
{
    trace("%s %s %d", TOOL, function, ++calls);
    if (calls > 1000) {
        trace("%s goes round in a circle", TOOL);
        abort();
    }
}

static void note_pages(void)
{
    /* Words for the loader, which may be protected even if the slots behind them are not. */
    enum { RESERVED = 3 * sizeof(void *) };
    int code = 0;
    const char *constant = protection(bound_constant, &code);
    const char *table = protection(_GLOBAL_OFFSET_TABLE_ + RESERVED, &code);
    const char *data = protection(&calls, &code);
    trace("exit %s pages: constant %s, table %s, data %s, writable code %s", TOOL, constant, table,
          data, code ? "yes" : "no");
}

/* Prints the library of the function that the wrapper of MPI_Comm_rank calls next, if this can be
 * found out without further references to PMPI. */
static void note_next(void)
{
#if BINDING >= BY_TABLE && BINDING <= BY_EARLY
    Dl_info info;
    __typeof__(&PMPI_Comm_rank) next = NEXT(Comm_rank);
    const char *path = dladdr((void *)(uintptr_t)next, &info) ? info.dli_fname : "/nowhere";
    trace("exit %s leads to %s", TOOL, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
#endif
}

#ifdef OPENS
/* Makes the global offset table writable, like interposers that change it repeatedly. */
__attribute__((constructor)) static void open_table(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *table = (char *)((uintptr_t)_GLOBAL_OFFSET_TABLE_ & ~(page - 1));
    if (mprotect(table, page, PROT_READ | PROT_WRITE) != 0)
        abort();
}
#endif

static void note_state(void)
{
    note_pages();
    note_next();
}

#define WRAP(RESULT, X, PARAMETERS, ARGUMENTS)                                                     \
    RESULT MPI_##X PARAMETERS                                                                      \
    {                                                                                              \
        note("MPI_" #X);                                                                           \
        if (#X[0] == 'F')                                                                          \
            note_state();                                                                          \
        return NEXT(X) ARGUMENTS;                                                                  \
    }
FUNCTIONS(WRAP)

#ifdef DEFINES_PMPI
/* Darshan has such wrappers for programs that call PMPI_X. Calls of other layers must not reach
 * them. */
#define WRAP_PMPI(RESULT, X, PARAMETERS, ARGUMENTS)                                                \
    RESULT PMPI_##X PARAMETERS                                                                     \
    {                                                                                              \
        trace("%s was reached by PMPI_%s", TOOL, #X);                                              \
        return NEXT(X) ARGUMENTS;                                                                  \
    }
FUNCTIONS(WRAP_PMPI)
#endif

/* With WRAPS, a tool (1) has the wrappers of MPI_Init and MPI_Finalize, and a library that it needs
 * (2) has the others. */
int middle_present(void);
#if WRAPS == 2
int middle_present(void)
{
    return 1;
}
#elif WRAPS == 0
#define middle_present() 1
#endif

__attribute__((constructor)) static void note_load(void)
{
    trace("load %s%s", TOOL, middle_present() ? "" : " without its middle");
}

__attribute__((destructor)) static void note_exit(void)
{
    trace("exit %s counted %d helper %d", TOOL, calls, helper_count());
}
