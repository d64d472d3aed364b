/* SPDX-License-Identifier: MIT */
/* The program in C: it has none of the steps that Fortran carries out. */
#include "program.h"

const struct storm_action storm_fortran_actions[] = {{0}};

int main(void)
{
    return storm_run();
}
