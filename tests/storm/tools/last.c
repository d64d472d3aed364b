/* SPDX-License-Identifier: MIT */
/* A library of the program that calls one of its functions in a destructor, as frameworks do to
 * finalize MPI. */
#include <stddef.h>

static void (*function)(void); /* NULL: none */

void storm_last_call(void (*last)(void));

void storm_last_call(void (*last)(void))
{
    function = last;
}

__attribute__((destructor)) static void leave(void)
{
    if (function)
        function();
}
