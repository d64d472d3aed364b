/* SPDX-License-Identifier: MIT */
/*
 * A library that calls MPI_Finalize in a destructor, as the static objects of frameworks do, and
 * programs that use it. The file is built three times:
 * - with LIBRARY: the library.
 * - without a macro: a program that is linked with the library. The loader calls the destructor of
 *   the library after those of libraries that were loaded later, such as tools.
 * - with CLOSES: a program that opens and closes the library named by its argument. The loader
 *   calls the destructor while it holds a lock.
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
    __asm__ volatile("" ::: "memory"); /* This prevents a tail call, so the caller is known. */
}

__attribute__((destructor)) static void end_mpi(void)
{
    MPI_Finalize();
    __asm__ volatile("" ::: "memory");
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
