/* SPDX-License-Identifier: MIT */
/* A library that initializes MPI_T in its constructor and finalizes it in its destructor. */
#include <mpi.h>

void watcher_link(void);

__attribute__((visibility("default"))) void watcher_link(void)
{
}

__attribute__((constructor)) static void begin(void)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}

__attribute__((destructor)) static void end(void)
{
    MPI_T_finalize();
}
