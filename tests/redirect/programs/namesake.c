/* SPDX-License-Identifier: MIT */
/* A library that is neither MPI nor a tool, and has a function of an MPI function's name. */
int MPI_Comm_rank(int comm, int *rank);

__attribute__((visibility("default"))) int MPI_Comm_rank(int comm, int *rank)
{
    *rank = 4711;
    return comm ? 0 : 0;
}
