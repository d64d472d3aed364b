/* SPDX-License-Identifier: MIT */
/*
 * Calls with null handles, which MPI refuses. The program's error handler must be called only once
 * for each call, although an observer asks about these handles before the call.
 */
#include "expect.h"

static int handled;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    handled++;
}

/* If the error handler returns, MPICH 5 returns MPI_SUCCESS, so the observer treats the call as
 * successful, and these fields may have any value. */
#define AFTER_SUCCESS " sent=* received=* transfers=* started=* completed=* fault=*"

/* Makes a call that MPI must refuse. */
#define REFUSED(X, ARGUMENTS, fields)                                                              \
    do {                                                                                           \
        handled = 0;                                                                               \
        const int error = MPI_##X ARGUMENTS;                                                       \
        EXPECT_TRUE(handled == 1);                                                                 \
        if (error == MPI_SUCCESS)                                                                  \
            expect_call("MPI_" #X, error, fields AFTER_SUCCESS);                                   \
        else                                                                                       \
            expect_failure("MPI_" #X, error, fields);                                              \
    } while (0)

int main(int argc, char **argv)
{
    int rank, size, numbers[4] = {0};
    MPI_Errhandler errors;
    expect_init(argc, argv, &rank, &size);
    PMPI_Comm_create_errhandler(handle, &errors);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, errors);
    expect_on(MPI_COMM_SELF);
    REFUSED(Send, (numbers, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_SELF),
            "@ sent_before=- received_before=- transfers_before=-");
    REFUSED(Recv, (numbers, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE),
            "@ sent_before=- received_before=- transfers_before=-");
    REFUSED(Bcast, (numbers, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_SELF),
            "@ root=0 sent_before=- received_before=-");
    MPI_Request request;
    REFUSED(Send_init, (numbers, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_SELF, &request), "@");
#ifndef OPEN_MPI /* Open MPI 4.1.4 ends the program instead of calling the error handler */
    MPI_Message message = MPI_MESSAGE_NULL;
    REFUSED(Mrecv, (numbers, 1, MPI_INT, &message, MPI_STATUS_IGNORE),
            "received_before=4 transfers_before=<any/-/any/4");
#endif
    MPI_Comm ring;
    PMPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){1}, 0, &ring);
    PMPI_Comm_set_errhandler(ring, errors);
    expect_on(ring);
    REFUSED(Neighbor_alltoall, (numbers, 1, MPI_INT, numbers + 2, 1, MPI_DATATYPE_NULL, ring),
            "@ sent_before=- received_before=-");
    PMPI_Comm_free(&ring);
    expect_on(MPI_COMM_NULL);
    REFUSED(Send, (numbers, 1, MPI_INT, 0, 1, MPI_COMM_NULL),
            "@ sent_before=4 transfers_before=>0/-/1/4");
    REFUSED(Allreduce, (numbers, numbers + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL),
            "@ sent_before=- received_before=-");
    REFUSED(Put, (numbers, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL),
            "sent_before=4 transfers_before=>0/-/-/4");
    PMPI_Errhandler_free(&errors);
    expect_finalize();
    return 0;
}
