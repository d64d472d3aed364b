/* SPDX-License-Identifier: MIT */
/*
 * All ranks write and read a file through a strided view, for which MPICH's library itself makes
 * MPI calls. The argument is the name of the file. EXPECTED in test_internal.py contains the
 * numbers of calls of this program.
 */
#include <mpi.h>

#include <stdio.h>

enum { N = 8 };

int main(int argc, char **argv)
{
    int rank, size, out[N], in[N] = {0}, right = 1;
    MPI_File file;
    MPI_Datatype type;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++)
        out[i] = rank * 100 + i;
    MPI_Type_vector(N, 1, size, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, (MPI_Offset)(rank * (int)sizeof(int)), MPI_INT, type, "native",
                      MPI_INFO_NULL);
    MPI_File_write_all(file, out, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, in, N, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&type);
    for (int i = 0; i < N; i++)
        right = right && in[i] == out[i];
    MPI_Finalize();
    printf("rank %d %s\n", rank, right ? "read what it wrote" : "read something else");
    return 0;
}
