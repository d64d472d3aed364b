/* SPDX-License-Identifier: MIT */
/*
 * QMPIX_FOR_EACH_FUNCTION(W): expands a macro for each function of this MPI.
 *
 * W(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) is expanded once for each function MPI_X, except the
 * variadic MPI_Pcontrol. A layer that counts all these calls contains, besides the array `calls`
 * and the registration of the tool:
 *
 *     #define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                \
 *         static RESULT my_##X PARAMETERS                                    \
 *         {                                                                  \
 *             calls[NUMBER]++;                                               \
 *             return QMPIX_NEXT(context, X) ARGUMENTS;                       \
 *         }
 *     QMPIX_FOR_EACH_FUNCTION(WRAP)
 *
 *     static void init(int tool_id)
 *     {
 *     #define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)            \
 *         QMPIX_REGISTER(tool_id, X, my_##X);
 *         QMPIX_FOR_EACH_FUNCTION(REGISTER)
 *     }
 *
 * PARAMETERS starts with `QMPI_Context context`, ARGUMENTS with the next context. Prefix your own
 * names in the body with the name of the tool, so that they cannot clash with parameter names of
 * MPI.
 */
#ifndef QMPI_WRAPPERS_H
#define QMPI_WRAPPERS_H

#include <qmpi/qmpi.h>

#if defined(OPEN_MPI)
#include <qmpi/openmpi/wrappers.h>
#elif defined(MPICH_VERSION)
#include <qmpi/mpich/wrappers.h>
#else
#include <qmpi/abi/wrappers.h>
#endif

#endif
