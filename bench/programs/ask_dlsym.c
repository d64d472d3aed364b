/* SPDX-License-Identifier: MIT */
/*
 * ask_dlsym WHEN LIBRARY NAME count CALLS…: makes one call of dlsym; then runs call_loop() once for
 * each number CALLS, with that many calls. count_steps counts the instructions of these runs.
 *
 * ask_dlsym WHEN LIBRARY NAME time CALLS LOOPS: measures the time of calls of dlsym, as loop.c does
 * for MPI_Comm_rank.
 *
 * NAME is the symbol that dlsym looks up. LIBRARY is the library whose handle is used, or "default"
 * for RTLD_DEFAULT. WHEN is "after" the program's first MPI call, in which libqmpi starts up, or
 * "before" it.
 */
#define _GNU_SOURCE
#include "time_loops.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *handle;
static const char *name;

__attribute__((noinline)) static int call_loop(long calls)
{
    int missing = 0;
    for (long i = 0; i < calls; i++)
        missing += dlsym(handle, name) == NULL;
    return missing;
}

/* Runs only with "after". With "before", too, this reference to an MPI function makes the program
 * depend on the MPI library. */
static void call_mpi(void)
{
    int flag;
    MPI_Initialized(&flag);
}

static int measure(int argc, char **argv)
{
    const long calls = argc > 5 ? atol(argv[5]) : 0;
    const long loops = argc > 6 ? atol(argv[6]) : 0;
    if (argc > 5 && !strcmp(argv[4], "count"))
        return count_loops(call_loop, argc - 5, argv + 5);
    if (argc == 7 && !strcmp(argv[4], "time") && calls > 0 && loops > 0)
        return time_loops(call_loop, calls, loops);
    fprintf(stderr, "usage: ask_dlsym after|before LIBRARY|default NAME count CALLS...\n"
                    "       ask_dlsym after|before LIBRARY|default NAME time CALLS LOOPS\n");
    return 2;
}

static int prepare(char **argv)
{
    name = argv[3];
    handle = RTLD_DEFAULT;
    if (strcmp(argv[2], "default") != 0 && !(handle = dlopen(argv[2], RTLD_LAZY))) {
        fprintf(stderr, "ask_dlsym: %s\n", dlerror());
        return 2;
    }
    if (!strcmp(argv[1], "after"))
        call_mpi();
    return 0;
}

int main(int argc, char **argv)
{
    const int status = argc > 3 ? prepare(argv) : 0;
    return status ? status : measure(argc, argv);
}
