/* SPDX-License-Identifier: MIT */
/* A program without MPI; its argument is its exit status. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    puts("a program without MPI");
    return argc > 1 ? atoi(argv[1]) : 0;
}
