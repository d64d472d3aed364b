/* SPDX-License-Identifier: MIT */
/*
 * A tool (with IS_TOOL) or a library of this tool, in C++. Both contain the definitions of the same
 * variables, of which the loader uses only one each. The constructors count, and so do the tool and
 * its library in each MPI_Barrier. In MPI_Init, the tool opens the library TEST_OWN. In
 * MPI_Finalize, it prints the counts, and whether it uses the same data as the standard library,
 * which also contains definitions of a variable of the tool.
 */
#include "trace.h"

#include <mpi.h>

#include <dlfcn.h>
#include <locale>
#include <stdlib.h>

template <typename> struct Counts {
    static int member;
};
template <typename T> int Counts<T>::member;

inline int &in_function()
{
    static int count;
    return count;
}

inline int &in_thread()
{
    static thread_local int count;
    return count;
}

static void count()
{
    Counts<int>::member++;
    in_function()++;
    in_thread()++;
}

__attribute__((constructor)) static void begin()
{
    count();
}

#ifndef IS_TOOL

extern "C" void make_calls(int calls);
extern "C" void make_calls(int calls)
{
    while (calls-- > 0)
        count();
}

#else

template class std::num_put<char>; /* defines std::num_put<char>::id, as libstdc++ does */

extern "C" void make_calls(int calls);

extern "C" int MPI_Init(int *argc, char ***argv)
{
    const char *library = getenv("TEST_OWN");
    if (library && !dlopen(library, RTLD_NOW | RTLD_LOCAL))
        trace("unique: %s", dlerror());
    return PMPI_Init(argc, argv);
}

extern "C" int MPI_Barrier(MPI_Comm comm)
{
    count();
    make_calls(1);
    return PMPI_Barrier(comm);
}

/* The constructor of the locale is code of the tool, and use_facet is code of libstdc++. */
static bool finds_facet()
{
    auto *facet = new std::num_put<char>;
    const std::locale with(std::locale::classic(), facet);
    return &std::use_facet<std::num_put<char>>(with) == facet;
}

extern "C" int MPI_Finalize()
{
    trace("unique counted %d %d %d%s", Counts<int>::member, in_function(), in_thread(),
          finds_facet() ? "" : ", without its facet");
    return PMPI_Finalize();
}

#endif
