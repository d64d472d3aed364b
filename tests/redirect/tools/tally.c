/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool that counts calls of some functions. In MPI_Finalize, it appends the counts to the
 * file $REDIRECT_TALLY.PID. In a process, all layers of this tool append to the same file.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EVERY(COUNT)                                                                               \
    COUNT(Send, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c),                  \
          (b, n, t, r, g, c))                                                                      \
    COUNT(Recv, (void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Status *s),         \
          (b, n, t, r, g, c, s))                                                                   \
    COUNT(Isend, (const void *b, int n, MPI_Datatype t, int r, int g, MPI_Comm c, MPI_Request *q), \
          (b, n, t, r, g, c, q))                                                                   \
    COUNT(Waitall, (int n, MPI_Request q[], MPI_Status s[]), (n, q, s))                            \
    COUNT(Barrier, (MPI_Comm c), (c))                                                              \
    COUNT(Comm_rank, (MPI_Comm c, int *r), (c, r))                                                 \
    COUNT(Comm_size, (MPI_Comm c, int *n), (c, n))                                                 \
    COUNT(Comm_free, (MPI_Comm * c), (c))                                                          \
    COUNT(Comm_set_name, (MPI_Comm c, const char *n), (c, n))                                      \
    COUNT(Cart_sub, (MPI_Comm c, const int k[], MPI_Comm *s), (c, k, s))                           \
    COUNT(Cartdim_get, (MPI_Comm c, int *n), (c, n))                                               \
    COUNT(Dist_graph_neighbors_count, (MPI_Comm c, int *i, int *o, int *w), (c, i, o, w))          \
    COUNT(Type_commit, (MPI_Datatype * t), (t))                                                    \
    COUNT(File_open, (MPI_Comm c, const char *n, int m, MPI_Info i, MPI_File *f), (c, n, m, i, f)) \
    COUNT(File_close, (MPI_File * f), (f))

#define COUNT(X, PARAMETERS, ARGUMENTS)                                                            \
    static long calls_##X;                                                                         \
    int MPI_##X PARAMETERS                                                                         \
    {                                                                                              \
        calls_##X++;                                                                               \
        return PMPI_##X ARGUMENTS;                                                                 \
    }
EVERY(COUNT)

static long calls_Init, calls_Wtime;

int MPI_Init(int *argc, char ***argv)
{
    calls_Init++;
    return PMPI_Init(argc, argv);
}

double MPI_Wtime(void)
{
    calls_Wtime++;
    return PMPI_Wtime();
}

int MPI_Finalize(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%ld", getenv("REDIRECT_TALLY"), (long)getpid());
    FILE *file = fopen(name, "a");
    if (!file)
        abort();
#define WRITE(X, PARAMETERS, ARGUMENTS) fprintf(file, "MPI_" #X " %ld\n", calls_##X);
    EVERY(WRITE)
    fprintf(file, "MPI_Init %ld\nMPI_Wtime %ld\nMPI_Finalize 1\n", calls_Init, calls_Wtime);
    fclose(file);
    return PMPI_Finalize();
}
