/* SPDX-License-Identifier: MIT */
/* A library that has a function with the name of an MPI function, but is neither an MPI library nor
 * a tool. */
int MPI_Comm_rank(int comm, int *rank);

__attribute__((visibility("default"))) int MPI_Comm_rank(int comm, int *rank)
{
    *rank = 4711;
    return comm ? 0 : 0;
}
