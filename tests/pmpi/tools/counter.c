/* SPDX-License-Identifier: MIT */
/* A library of a tool. It contains state of the tool, which is a number, and does not use MPI. */
#include "trace.h"

#include <stdlib.h>

static int numbers;

static void note_end(void)
{
    trace("counter at exit %d", numbers);
}

int next_number(void);
int next_number(void)
{
    if (!numbers)
        atexit(note_end);
    return ++numbers;
}
