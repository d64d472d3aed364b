/* SPDX-License-Identifier: MIT */
/*
 * Usage: children HOW PROGRAM [ARGUMENT…]. An MPI program that runs another program. HOW is fork
 * (by fork and execvp), spawn (by posix_spawnp) or system (PROGRAM is a shell command).
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    int status = -1;
    pid_t child = 0;
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(argv[1], "system")) {
        status = system(argv[2]);
    } else {
        if (!strcmp(argv[1], "spawn"))
            posix_spawnp(&child, argv[2], NULL, NULL, argv + 2, environ);
        else if ((child = fork()) == 0)
            _exit(execvp(argv[2], argv + 2));
        waitpid(child, &status, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
