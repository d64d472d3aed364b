/* SPDX-License-Identifier: MIT */
/*
 * Usage: plugins WHEN PLUGIN CALLS. Opens a plugin and lets it make CALLS MPI calls. Then looks up
 * an MPI function, as some programs do, and calls it once. WHEN is the time at which the plugin is
 * opened:
 *   early      before MPI_Init
 *   starting   during MPI_Init, in another thread
 *   turn       during MPI_Init, when the constructor of a tool calls program_turn
 *   late       after MPI_Init
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *when, *library;
static void (*calls)(int count);

static void *open_plugin(void *unused)
{
    (void)unused;
    void *plugin = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    calls = (void (*)(int))(uintptr_t)dlsym(plugin, "plugin_calls");
    if (!calls)
        calls = (void (*)(int))(uintptr_t)dlsym(plugin, "make_calls");
    return NULL;
}

/* Exports a function, because functions of this program are hidden by default. */
#define SHOWN __attribute__((visibility("default")))

/* The constructor of the tool (opens.c) looks this function up by its name. */
SHOWN void program_turn(void);
void program_turn(void)
{
    if (!strcmp(when, "turn") && !calls)
        open_plugin(NULL);
}

/*
 * Replaces the function of the C library. libqmpi calls it for an option env.NAME=value of a layer,
 * just before it loads the library of this layer. At this time, another thread opens the plugin.
 */
SHOWN int setenv(const char *name, const char *value, int overwrite)
{
    int (*real)(const char *, const char *, int) =
        (int (*)(const char *, const char *, int))(uintptr_t)dlsym(RTLD_NEXT, "setenv");
    pthread_t thread;
    if (when && !strcmp(when, "starting") && !calls && !strcmp(name, "TEST_TURN") &&
        pthread_create(&thread, NULL, open_plugin, NULL) == 0)
        pthread_join(thread, NULL);
    return real(name, value, overwrite);
}

int main(int argc, char **argv)
{
    int rank = -1, provided;
    if (argc != 4)
        return 2;
    library = argv[2];
    when = argv[1];
    if (!strcmp(when, "early"))
        open_plugin(NULL);
    MPI_Init(&argc, &argv);
    MPI_Query_thread(&provided);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(when, "late"))
        open_plugin(NULL);
    if (!calls) {
        fprintf(stderr, "the plugin's turn did not come\n");
        return 1;
    }
    calls(atoi(argv[3]));
    int (*looked_up)(MPI_Comm, int *) =
        (int (*)(MPI_Comm, int *))(uintptr_t)dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    looked_up(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    printf("rank %d\n", rank);
    return 0;
}
