/* SPDX-License-Identifier: MIT */
/*
 * Each of up to 8 arguments is a shell command that starts this program without arguments. Spawns a
 * process for each command, and waits for all of these processes in a barrier.
 */
#include <mpi.h>

#include <stdio.h>

enum { MOST = 8 };

static MPI_Comm spawn_all(int count, char **commands)
{
    char *shells[MOST], *arguments[MOST][3], **argvs[MOST];
    int ones[MOST];
    MPI_Info infos[MOST];
    MPI_Comm children = MPI_COMM_NULL;
    for (int i = 0; i < count; i++) {
        shells[i] = (char *)"/bin/sh";
        arguments[i][0] = (char *)"-c";
        arguments[i][1] = commands[i];
        arguments[i][2] = NULL;
        argvs[i] = arguments[i];
        ones[i] = 1;
        infos[i] = MPI_INFO_NULL;
    }
    MPI_Comm_spawn_multiple(count, shells, argvs, ones, infos, 0, MPI_COMM_WORLD, &children,
                            MPI_ERRCODES_IGNORE);
    return children;
}

int main(int argc, char **argv)
{
    MPI_Comm other = MPI_COMM_NULL, parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        other = parent;
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        other = spawn_all(argc - 1 < MOST ? argc - 1 : MOST, argv + 1);
    }
    if (other != MPI_COMM_NULL) {
        MPI_Barrier(other);
        MPI_Comm_disconnect(&other);
        printf("%s\n", parent == MPI_COMM_NULL ? "spawned" : "was spawned");
    } else {
        printf("cannot spawn\n");
    }
    MPI_Finalize();
    return 0;
}
