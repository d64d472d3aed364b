/* SPDX-License-Identifier: MIT */
/*
 * A program whose library calls MPI_Finalize in a destructor, as the static objects of frameworks
 * do. The loader calls it after those of libraries that were loaded later, such as tools. With
 * LIBRARY, it is that library. With CLOSES, the program opens the library that its argument names,
 * and closes it: the loader then has a lock while it calls the destructor.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) void begin_mpi(void);

#ifdef LIBRARY
void begin_mpi(void)
{
    MPI_Init(0, 0);
}

__attribute__((destructor)) static void end_mpi(void)
{
    MPI_Finalize();
}
#elif defined CLOSES
int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*begin)(void) = library ? (void (*)(void))(uintptr_t)dlsym(library, "begin_mpi") : NULL;
    if (!begin)
        return 1;
    begin();
    MPI_Barrier(MPI_COMM_WORLD);
    return dlclose(library);
}
#else
int main(void)
{
    begin_mpi();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
#endif
