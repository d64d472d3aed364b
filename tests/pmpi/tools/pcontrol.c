/* SPDX-License-Identifier: MIT */
/* A tool that reads the variable arguments of MPI_Pcontrol, which are a string, a double, a long
 * and a double, and passes all of them on. */
#include "trace.h"

#include <mpi.h>

#include <stdarg.h>

int MPI_Pcontrol(const int level, ...)
{
    va_list list;
    va_start(list, level);
    const char *name = va_arg(list, const char *);
    const double real = va_arg(list, double);
    const long word = va_arg(list, long);
    const double second = va_arg(list, double);
    va_end(list);
    trace("%s MPI_Pcontrol %d %s %g %ld %g", TOOL, level, name, real, word, second);
    return PMPI_Pcontrol(level, name, real, word, second);
}
