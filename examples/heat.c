/* SPDX-License-Identifier: MIT */
/*
 * A small MPI program to try tools on: heat flows along a rod that is divided among the processes.
 * In each step, neighbors exchange the ends of their parts. After every tenth step, all processes
 * add up how much has changed. Rank 0 has the most work. `heat STEPS` prints the same sum for any
 * number of processes that divides 4096, the number of points.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 4096 };

static double now[POINTS + 2], next[POINTS + 2];

static double advance(int count, int repeat)
{
    double change = 0;
    for (int again = 0; again < repeat; again++) {
        change = 0;
        for (int i = 1; i <= count; i++) {
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
            change += (next[i] - now[i]) * (next[i] - now[i]);
        }
    }
    memcpy(now + 1, next + 1, (size_t)count * sizeof *now);
    return change;
}

int main(int argc, char **argv)
{
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const int count = POINTS / size;
    const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    const int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    for (int i = 1; i <= count; i++)
        now[i] = (rank * count + i) % 64;
    for (int step = 0; step < steps; step++) {
        MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 0, &now[count + 1], 1, MPI_DOUBLE, right, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[count], 1, MPI_DOUBLE, right, 1, &now[0], 1, MPI_DOUBLE, left, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double change = advance(count, rank ? 1 : 9), all;
        if (step % 10 == 9)
            MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double sum = 0, total = 0;
    for (int i = 1; i <= count; i++)
        sum += now[i];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("heat: %d steps, sum %.6f\n", steps, total);
    MPI_Finalize();
    return 0;
}
