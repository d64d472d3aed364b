/* SPDX-License-Identifier: MIT */
/* The program in C, without the steps that the Fortran programs carry out. */
#include "program.h"

const struct storm_action storm_fortran_actions[] = {{0}};

int main(void)
{
    return storm_run();
}
