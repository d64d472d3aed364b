/* SPDX-License-Identifier: MIT */
/* A library that a PMPI tool opens and closes. It makes no MPI calls, and has an exit handler and a
 * destructor. */
#include <stdlib.h>

int storm_help(int number);

static int used;

static void at_exit(void)
{
    used = -1;
}

int storm_help(int number)
{
    if (!used++)
        atexit(at_exit);
    return number + 1;
}

__attribute__((destructor)) static void end(void)
{
    used = -2;
}
