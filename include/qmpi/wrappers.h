/* SPDX-License-Identifier: MIT */
/*
 * QMPIX_FOR_EACH_FUNCTION(W): one line of code for all of this MPI's functions.
 *
 * W(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) is expanded once for every function MPI_X, the
 * variadic MPI_Pcontrol excepted. A whole layer that counts every call:
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
 *         QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))my_##X);
 *         QMPIX_FOR_EACH_FUNCTION(REGISTER)
 *     }
 *
 * PARAMETERS begins with `QMPI_Context context`; ARGUMENTS with the next context. Names of your own
 * in the body that begin with the tool's name cannot clash with MPI's parameter names.
 */
#ifndef QMPI_WRAPPERS_H
#define QMPI_WRAPPERS_H

#include <qmpi/qmpi.h>

#if defined(OPEN_MPI)
#include <qmpi/openmpi/wrappers.h>
#else
#include <qmpi/mpich/wrappers.h>
#endif

#endif
