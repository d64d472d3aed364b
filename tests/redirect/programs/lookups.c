/* SPDX-License-Identifier: MIT */
/*
 * Looks up names by dlsym. The program is linked with MPI. Its arguments are steps:
 *   where=HANDLE=NAME   prints which library contains the address that dlsym returns
 *   error=HANDLE=NAME   prints whether dlsym finds the name, and whether dlerror then returns an
 *                       error, once or repeatedly
 *   call=HANDLE         looks up MPI_Comm_rank and calls it
 *   init, finalize      call MPI_Init and MPI_Finalize without dlsym
 * HANDLE selects the first argument of dlsym:
 *   default   RTLD_DEFAULT
 *   next      RTLD_NEXT
 *   middle    RTLD_NEXT in libredirectmiddle.so, with which the program is linked
 *   self      the program's own handle
 *   mpi       the handle of the library in REDIRECT_MPI
 *   own       the handle of the library in REDIRECT_NAMESAKE
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *middle_next(const char *name);

static void *look_up(const char *handle, const char *name)
{
    if (!strcmp(handle, "default"))
        return dlsym(RTLD_DEFAULT, name);
    if (!strcmp(handle, "next"))
        return dlsym(RTLD_NEXT, name);
    if (!strcmp(handle, "self"))
        return dlsym(dlopen(NULL, RTLD_NOW), name);
    if (!strcmp(handle, "middle"))
        return middle_next(name);
    void *library =
        dlopen(getenv(!strcmp(handle, "own") ? "REDIRECT_NAMESAKE" : "REDIRECT_MPI"), RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(95);
    }
    dlerror();
    return dlsym(library, name);
}

static const char *library_of(const void *address)
{
    Dl_info info;
    if (!address || !dladdr(address, &info))
        return "nowhere";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static void call_rank(const char *handle)
{
    int rank = -1;
    int (*comm_rank)(MPI_Comm, int *) =
        (int (*)(MPI_Comm, int *))(uintptr_t)look_up(handle, "MPI_Comm_rank");
    const int result = comm_rank(MPI_COMM_WORLD, &rank);
    printf("call %s: %d, %d\n", handle, result, rank);
}

static void run(char *step)
{
    char *handle = strchr(step, '=');
    char *name = handle ? strchr(handle + 1, '=') : NULL;
    if (handle)
        *handle++ = 0;
    if (name)
        *name++ = 0;
    if (!strcmp(step, "init")) {
        MPI_Init(NULL, NULL);
    } else if (!strcmp(step, "finalize")) {
        MPI_Finalize();
    } else if (!strcmp(step, "call") && handle) {
        call_rank(handle);
    } else if (!strcmp(step, "where") && name) {
        const void *found = look_up(handle, name);
        printf("%s %s: %s\n", handle, name, library_of(found));
    } else if (!strcmp(step, "error") && name) {
        const void *found = look_up(handle, name);
        const char *error = dlerror();
        const char *again = dlerror();
        printf("%s %s: %s, %s, %s\n", handle, name, found ? "found" : "NULL",
               error ? "error" : "no error", again ? "and again" : "once");
    } else {
        exit(96);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    return 0;
}
