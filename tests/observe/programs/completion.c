/* SPDX-License-Identifier: MIT */
/*
 * Tests which requests an observer sees as completed by the functions MPI_Wait… and MPI_Test…. The
 * program knows them from the results of its calls. Runs on two ranks: rank 0 sends, and rank 1
 * receives.
 */
#include "expect.h"

static int rank, peer;
static int numbers[64];

/* Starts three sends on rank 0 and the three matching receives on rank 1. */
static void begin(MPI_Request requests[3])
{
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            DO(Isend, (numbers, i + 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]),
               says("@ sent=%d transfers=>1/1/%d/%d started=%s", 4 * i + 4, i, 4 * i + 4,
                    REQUEST(requests[i])));
        else
            DO(Irecv, (numbers + 4 * i, 4, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]),
               says("@ received=16 came=%d transfers=<0/0/%d/16 started=%s", 4 * i + 4, i,
                    REQUEST(requests[i])));
    }
}

static const char *done(int count, const MPI_Request *requests)
{
    const char *text = count ? "completed=" : "";
    for (int i = 0; i < count; i++)
        text = says("%s%s%s", text, i ? "," : "", REQUEST(requests[i]));
    return text;
}

static void copy(MPI_Request *to, const MPI_Request *from)
{
    for (int i = 0; i < 3; i++)
        to[i] = from[i];
}

static void all_of_them(void)
{
    MPI_Request requests[5], saved[3];
    MPI_Status statuses[5];
    int flag = 0;
    begin(requests);
    copy(saved, requests);
    DO(Waitall, (3, requests, MPI_STATUSES_IGNORE), done(3, saved));
    begin(requests);
    copy(saved, requests);
    requests[3] = requests[2]; /* null handles in the array do not count as completed */
    requests[2] = MPI_REQUEST_NULL;
    requests[4] = MPI_REQUEST_NULL;
    DO(Waitall, (5, requests, statuses), done(3, saved));
    EXPECT_TRUE(rank == 0 || (statuses[3].MPI_SOURCE == 0 && statuses[3].MPI_TAG == 2));
    DO(Waitall, (5, requests, statuses), "");
    DO(Waitall, (0, NULL, MPI_STATUSES_IGNORE), "");
    begin(requests);
    copy(saved, requests);
    while (!flag)
        DO(Testall, (3, requests, &flag, MPI_STATUSES_IGNORE), flag ? done(3, saved) : "");
    /* The next receive cannot be complete during the tests: its message is sent after them. */
    if (rank == 1) {
        MPI_Request unmatched;
        PMPI_Irecv(numbers, 1, MPI_INT, peer, 50, MPI_COMM_WORLD, &unmatched);
        DO(Testall, (1, &unmatched, &flag, MPI_STATUSES_IGNORE), "");
        DO(Test, (&unmatched, &flag, MPI_STATUS_IGNORE), "");
        int index, count, indices[1];
        DO(Testany, (1, &unmatched, &index, &flag, MPI_STATUS_IGNORE), "");
        DO(Testsome, (1, &unmatched, &count, indices, MPI_STATUSES_IGNORE), "");
        DO(Request_get_status, (unmatched, &flag, MPI_STATUS_IGNORE), "");
        DO(Request_get_status_all, (1, &unmatched, &flag, MPI_STATUSES_IGNORE), "");
        DO(Request_get_status_any, (1, &unmatched, &index, &flag, MPI_STATUS_IGNORE), "");
        DO(Request_get_status_some, (1, &unmatched, &count, indices, MPI_STATUSES_IGNORE), "");
        PMPI_Barrier(MPI_COMM_WORLD);
        const MPI_Request old_unmatched = unmatched;
        DO(Wait, (&unmatched, MPI_STATUS_IGNORE), done(1, &old_unmatched));
    } else {
        PMPI_Barrier(MPI_COMM_WORLD);
        PMPI_Send(numbers, 1, MPI_INT, peer, 50, MPI_COMM_WORLD);
    }
}

static void one_of_them(void)
{
    MPI_Request requests[3], saved[3];
    MPI_Status status;
    int index = 0, flag = 0;
    begin(requests);
    copy(saved, requests);
    for (int i = 0; i < 3; i++)
        DO(Waitany, (3, requests, &index, MPI_STATUS_IGNORE), done(1, &saved[index]));
    DO(Waitany, (3, requests, &index, MPI_STATUS_IGNORE), "");
    EXPECT_TRUE(index == MPI_UNDEFINED);
    begin(requests);
    copy(saved, requests);
    for (int finished = 0; finished < 3; finished += flag)
        DO(Testany, (3, requests, &index, &flag, &status), flag ? done(1, &saved[index]) : "");
    DO(Testany, (3, requests, &index, &flag, MPI_STATUS_IGNORE), "");
    EXPECT_TRUE(flag && index == MPI_UNDEFINED);
    begin(requests);
    copy(saved, requests);
    for (int i = 0; i < 3; i++) {
        DO(Wait, (&requests[i], &status), done(1, &saved[i]));
        EXPECT_TRUE(rank == 0 || (status.MPI_SOURCE == 0 && status.MPI_TAG == i));
    }
    DO(Wait, (&requests[0], MPI_STATUS_IGNORE), "");
    begin(requests);
    copy(saved, requests);
    for (int i = 0; i < 3; i++) {
        for (flag = 0; !flag;)
            DO(Test, (&requests[i], &flag, MPI_STATUS_IGNORE), flag ? done(1, &saved[i]) : "");
    }
    DO(Test, (&requests[0], &flag, MPI_STATUS_IGNORE), "");
    EXPECT_TRUE(flag);
}

static void some_of_them(void)
{
    MPI_Request requests[3], saved[3], finished[3];
    int indices[3], count = 0;
    for (int waits = 0; waits < 2; waits++) {
        begin(requests);
        copy(saved, requests);
        for (int all = 0; all < 3; all += count) {
            const char *fields = "";
            int error;
            if (waits)
                error = MPI_Waitsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
            else
                error = MPI_Testsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
            EXPECT_TRUE(count >= 0 && count <= 3);
            for (int i = 0; i < count; i++)
                finished[i] = saved[indices[i]];
            fields = done(count, finished);
            expect_call(waits ? "MPI_Waitsome" : "MPI_Testsome", error, fields);
        }
    }
    DO(Waitsome, (3, requests, &count, indices, MPI_STATUSES_IGNORE), "");
    EXPECT_TRUE(count == MPI_UNDEFINED);
    DO(Testsome, (3, requests, &count, indices, MPI_STATUSES_IGNORE), "");
}

/* ---- Operations that fail -------------------------------------------------------------------- */

/* Four ints arrive in a buffer for one. The completion reports the error, and the request is
 * freed. */
static void truncated(int form)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index = -1, flag = 0, error = MPI_SUCCESS;
    if (rank == 0) {
        PMPI_Barrier(MPI_COMM_WORLD);
        PMPI_Send(numbers, 4, MPI_INT, peer, 60, MPI_COMM_WORLD);
        return;
    }
    PMPI_Irecv(numbers, 1, MPI_INT, peer, 60, MPI_COMM_WORLD, &request[1]);
    const MPI_Request saved = request[1];
    PMPI_Barrier(MPI_COMM_WORLD);
    if (form == 0)
        expect_failure("MPI_Wait", MPI_Wait(&request[1], MPI_STATUS_IGNORE), done(1, &saved));
    if (form == 1)
        expect_failure("MPI_Waitany", MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE),
                       done(1, &saved));
    while (form > 1 && error == MPI_SUCCESS) {
        error = form == 2 ? MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE)
                          : MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS)
            expect_call(form == 2 ? "MPI_Test" : "MPI_Testany", error, "");
        else
            expect_failure(form == 2 ? "MPI_Test" : "MPI_Testany", error, done(1, &saved));
    }
    EXPECT_TRUE(request[1] == MPI_REQUEST_NULL);
}

/* Returns the field for the requests that were completed, whose handles are null now. */
static const char *done_among(const MPI_Request *saved, const MPI_Request *requests)
{
    MPI_Request finished[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            finished[count++] = saved[i];
    }
    return done(count, finished);
}

/* The first of three operations fails, so the call returns MPI_ERR_IN_STATUS. MPI may report the
 * other operations as pending. If statuses are ignored, Open MPI returns the error of the operation
 * instead. */
static void some_fail(int form)
{
    MPI_Request requests[3], saved[3];
    MPI_Status statuses[3];
    const char *const names[] = {"MPI_Waitall", "MPI_Testall", "MPI_Waitsome", "MPI_Testsome",
                                 "MPI_Waitall"};
    int class, flag = 0, count = 0, indices[3], error = MPI_SUCCESS;
    if (rank == 0) {
        PMPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 3; i++)
            PMPI_Send(numbers, i ? 1 : 4, MPI_INT, peer, 70 + i, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < 3; i++)
        PMPI_Irecv(numbers + i, 1, MPI_INT, peer, 70 + i, MPI_COMM_WORLD, &requests[i]);
    PMPI_Barrier(MPI_COMM_WORLD);
    while (error == MPI_SUCCESS) {
        copy(saved, requests);
        error = form == 0   ? MPI_Waitall(3, requests, statuses)
                : form == 1 ? MPI_Testall(3, requests, &flag, statuses)
                : form == 2 ? MPI_Waitsome(3, requests, &count, indices, statuses)
                : form == 3 ? MPI_Testsome(3, requests, &count, indices, statuses)
                            : MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        if (error == MPI_SUCCESS)
            expect_call(names[form], error, done_among(saved, requests));
        else
            expect_failure(names[form], error, done_among(saved, requests));
    }
    PMPI_Error_class(error, &class);
    EXPECT_TRUE(form == 4 || class == MPI_ERR_IN_STATUS);
    /* MPI_Testall of MPICH 5 keeps all requests if one fails. */
    EXPECT_TRUE(form == 1 || requests[0] == MPI_REQUEST_NULL);
    PMPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* ---- Generalized requests -------------------------------------------------------------------- */

static int query(void *state, MPI_Status *status)
{
    (void)state;
    PMPI_Status_set_elements(status, MPI_INT, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_state(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    MPI_Request request;
    DO(Grequest_start, (query, free_state, cancel, NULL, &request),
       says("started=%s", REQUEST(request)));
    DO(Grequest_complete, (request), "");
    const MPI_Request saved = request;
    DO(Wait, (&request, MPI_STATUS_IGNORE), done(1, &saved));
}

int main(int argc, char **argv)
{
    int size;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 2);
    peer = 1 - rank;
    all_of_them();
    one_of_them();
    some_of_them();
    for (int form = 0; form < 4; form++)
        truncated(form);
    for (int form = 0; form < 5; form++)
        some_fail(form);
    generalized();
    expect_finalize();
    return 0;
}
