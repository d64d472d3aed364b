/* SPDX-License-Identifier: MIT */
/*
 * many_objects WHAT NUMBER: raises SIGURG before and after a few calls that concern objects of the
 * kind WHAT, while there are NUMBER of these objects. count_steps counts the instructions between
 * the two signals. WHAT is one of:
 * - requests: pending requests.
 * - names: names of regions.
 * - open: open regions, which are closed in the reverse order.
 * - first: open regions, which are closed in the order in which they were opened.
 * - wildcards: receives from any source. While they are pending, as many messages with other tags
 *   are received, in the reverse order of their receives. No signals are raised.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8 };

static void receive(int count)
{
    MPI_Request *requests = malloc((size_t)(count + FEW) * sizeof *requests);
    char *bytes = malloc((size_t)(count + FEW));
    for (int i = 0; i < count; i++)
        MPI_Irecv(bytes + i, 1, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[i]);
    raise(SIGURG); /* this signal is ignored by default */
    for (int i = count; i < count + FEW; i++)
        MPI_Irecv(bytes + i, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[i]);
    for (int i = count; i < count + FEW; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    raise(SIGURG);
    for (int i = 0; i < count; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(bytes);
}

static void receive_any(int count)
{
    MPI_Request *requests = malloc((size_t)(2 * count + 2) * sizeof *requests);
    char *bytes = calloc((size_t)(2 * count + 2), 1), sent = 0;
    for (int i = 0; i < 2 * count; i++)
        MPI_Irecv(bytes + i, 1, MPI_CHAR, i < count ? MPI_ANY_SOURCE : 0, i, MPI_COMM_SELF,
                  &requests[i]);
    MPI_Irecv(bytes + 2 * count, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF,
              &requests[2 * count]);
    for (int i = 2 * count - 1; i >= 0; i--) {
        MPI_Send(&sent, 1, MPI_CHAR, 0, i, MPI_COMM_SELF);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    MPI_Send(&sent, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&requests[2 * count], MPI_STATUS_IGNORE);
    free(requests);
    free(bytes);
}

static void region(int number, int level)
{
    char name[32];
    snprintf(name, sizeof name, "region %d", number);
    MPI_Pcontrol(level, name);
}

/* Opens regions, the last FEW of them between the signals. Closes each one at once, or all of them
 * later, in the reverse or in the same order. */
static void open_regions(int count, int stays_open, int first_closes)
{
    for (int i = 0; i < count + FEW; i++) {
        if (i == count)
            raise(SIGURG);
        region(i, 1);
        if (!stays_open)
            region(i, -1);
    }
    raise(SIGURG);
    for (int i = count + FEW - 1; i >= 0 && stays_open; i--)
        region(first_closes ? count + FEW - 1 - i : i, -1);
}

int main(int argc, char **argv)
{
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    if (!strcmp(argv[1], "requests"))
        receive(count);
    else if (!strcmp(argv[1], "wildcards"))
        receive_any(count);
    else
        open_regions(count, strcmp(argv[1], "names") != 0, !strcmp(argv[1], "first"));
    MPI_Finalize();
    return 0;
}
