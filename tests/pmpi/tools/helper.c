/* SPDX-License-Identifier: MIT */
/* A library of a PMPI tool that contains the tool's references to PMPI, and counts the calls that
 * the tool makes through it. */
#include "functions.h"

#include <stdlib.h>

static int calls;

/* A reference to MPI in the data of the library. */
extern int (*helper_barrier)(MPI_Comm comm);
int (*helper_barrier)(MPI_Comm comm) = PMPI_Barrier;

int helper_count(void);
int helper_count(void)
{
    return calls;
}

#define HELP(RESULT, X, PARAMETERS, ARGUMENTS)                                                     \
    RESULT helper_##X PARAMETERS;                                                                  \
    RESULT helper_##X PARAMETERS                                                                   \
    {                                                                                              \
        calls++;                                                                                   \
        if (#X[0] == 'B' && !helper_barrier)                                                       \
            abort();                                                                               \
        return HELPER_NEXT(X) ARGUMENTS;                                                           \
    }
#define PMPI_Barrier helper_barrier
#define HELPER_NEXT(X) PMPI_##X
FUNCTIONS(HELP)
