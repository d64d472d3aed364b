/* SPDX-License-Identifier: MIT */
/* The program in C, which has no steps in Fortran. */
#include "program.h"

const struct storm_action storm_fortran_actions[] = {{0}};

int main(void)
{
    return storm_run();
}
