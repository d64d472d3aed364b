/* SPDX-License-Identifier: MIT */
/*
 * Receives a message that MPI_Mprobe has matched. The layer `again`, which is below the observer,
 * probes a second message before the observer knows that this receive is complete, as another
 * thread could. The layer receives the second message in MPI_Barrier. MPI may give both messages
 * the same handle, but the observer must not confuse them.
 */
#include "expect.h"

int main(int argc, char **argv)
{
    int rank, size, numbers[4] = {0}, got[4];
    MPI_Message message;
    MPI_Request requests[2];
    expect_init(argc, argv, &rank, &size);
    expect_on(MPI_COMM_SELF);
    PMPI_Isend(numbers, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    PMPI_Isend(numbers, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
    DO(Mprobe, (0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE), "@");
    const int received = MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    expect_call("MPI_Mprobe", MPI_SUCCESS, "@");
    expect_call("MPI_Mrecv", received, says("@ received=4 transfers=<0/%d/1/4", rank));
    const int passed = MPI_Barrier(MPI_COMM_SELF);
    expect_call(
        "MPI_Mrecv", MPI_SUCCESS,
        says("@ received=8 transfers=<0/%d/2/8 received_before=16 transfers_before=<0/%d/2/16",
             rank, rank));
    expect_call("MPI_Barrier", passed, "@ root=*");
    PMPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_finalize();
    return 0;
}
