/* SPDX-License-Identifier: MIT */
/*
 * Usage: loading PLUGIN. Switches layer 1 off and on while another thread loads the library PLUGIN.
 * The program is linked with a Fortran binding of MPI, so that a switch also changes where Fortran
 * calls lead.
 */
#define _GNU_SOURCE
#include "loading.h"

#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

static void *load(void *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*loaded)(void) = library ? (int (*)(void))(uintptr_t)dlsym(library, "loaded") : NULL;
    atomic_store(&LOADING->began, 1); /* so that main does not wait if loading has failed */
    printf("loaded: %s\n", loaded && loaded() == 1 ? "right" : dlerror());
    return NULL;
}

int main(int argc, char **argv)
{
    int (*set_enabled)(int, int) =
        (int (*)(int, int))(uintptr_t)dlsym(RTLD_DEFAULT, "QMPIX_Tool_set_enabled");
    pthread_t thread;
    if (mmap(LOADING, sizeof *LOADING, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != LOADING)
        return 97;
    MPI_Init(NULL, NULL);
    if (argc < 2 || !set_enabled || pthread_create(&thread, NULL, load, argv[1]))
        return 98;
    while (!atomic_load(&LOADING->began))
        continue;
    for (int i = 0; i < 3; i++) {
        const int off = set_enabled(1, 0), on = set_enabled(1, 1);
        printf("switched: %d %d\n", off, on);
    }
    atomic_store(&LOADING->go_on, 1);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
