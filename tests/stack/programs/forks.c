/* SPDX-License-Identifier: MIT */
/*
 * Usage: forks [LIBRARY]. Forks repeatedly while another thread switches layer 1 or, if LIBRARY is
 * given, loads and unloads this library. Each child switches layers 1 and 2, looks up a function
 * and calls MPI. Prints how many children succeeded.
 */
#define _GNU_SOURCE
#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 50, SECONDS = 20 };

static atomic_int stop;

static void *switch_layers(void *unused)
{
    for (int on = 0; !atomic_load(&stop); on = !on)
        QMPIX_Tool_set_enabled(1, on);
    return unused;
}

static void *load(void *library)
{
    while (!atomic_load(&stop)) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!handle || dlclose(handle) != 0)
            abort();
    }
    return NULL;
}

/* Switches both layers, which are on at the end. If the fork has interrupted a switch of the other
 * thread, the first switch in the child completes it. */
static int be_child(void)
{
    int initialized = 0, enabled = 0, wrong = 0;
    alarm(SECONDS); /* kills a process that hangs */
    wrong += QMPIX_Tool_set_enabled(2, 0) != MPI_SUCCESS;
    wrong += QMPIX_Tool_set_enabled(2, 1) != MPI_SUCCESS;
    wrong += QMPIX_Tool_set_enabled(1, 1) != MPI_SUCCESS;
    wrong += QMPIX_Tool_get_enabled(1, &enabled) != MPI_SUCCESS || !enabled;
    wrong += dlsym(RTLD_DEFAULT, "MPI_Send") == NULL;
    wrong += MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized;
    return wrong;
}

int main(int argc, char **argv)
{
    int provided, good = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, argc > 1 ? load : switch_layers, argc > 1 ? argv[1] : NULL);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0)
            _exit(be_child());
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    QMPIX_Tool_set_enabled(1, 1);
    printf("%d of %d children\n", good, CHILDREN);
    MPI_Finalize();
    return 0;
}
