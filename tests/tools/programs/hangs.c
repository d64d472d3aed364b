/* SPDX-License-Identifier: MIT */
/*
 * Programs that hang: hangs CASE. Comments mark lines in which ranks wait. Each comment consists of
 * the name of the case, and of the rank if the ranks wait in different lines. Each process first
 * writes its process ID to the file pid.RANK. In the case `starting`, rank 1 never calls MPI_Init.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 7, OTHER_TAG = 8 };

static int rank, size;
static char byte;
static MPI_Comm world = MPI_COMM_WORLD;

static void compute(void)
{
    for (;;)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* ---- Collectives that do not belong together ------------------------------------------------- */

static void functions(void)
{
    int mine = rank, all;
    if (rank == 1)
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, world); /* functions 1 */
    else
        MPI_Barrier(world); /* functions 0 */
}

static void roots(void)
{
    MPI_Bcast(&byte, 1, MPI_BYTE, 1 - rank % 2, world); /* roots */
}

static void communicators(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    if (rank == 0)
        MPI_Barrier(copy); /* communicators 0 */
    else
        MPI_Barrier(world); /* communicators 1 */
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void receives(void)
{
    const int left = (rank + size - 1) % size;
    MPI_Recv(&byte, 1, MPI_BYTE, left, TAG, world, MPI_STATUS_IGNORE); /* receives */
}

static void sends(void)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Ssend(&byte, 1, MPI_BYTE, right, TAG, world); /* sends */
    MPI_Recv(&byte, 1, MPI_BYTE, left, TAG, world, MPI_STATUS_IGNORE);
}

static void tags(void)
{
    if (rank == 0)
        MPI_Ssend(&byte, 1, MPI_BYTE, 1, OTHER_TAG, world); /* tags 0 */
    else
        MPI_Recv(&byte, 1, MPI_BYTE, 0, TAG, world, MPI_STATUS_IGNORE); /* tags 1 */
}

static void requests(void)
{
    MPI_Request all[2];
    char bytes[2];
    MPI_Irecv(&bytes[0], 1, MPI_BYTE, 1 - rank, TAG, world, &all[0]);
    MPI_Irecv(&bytes[1], 1, MPI_BYTE, 1 - rank, OTHER_TAG, world, &all[1]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE); /* requests */
}

static void any(void)
{
    MPI_Recv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, /* any */
             MPI_STATUS_IGNORE);
}

/* ---- Ranks that do not come ------------------------------------------------------------------ */

static void absent(void)
{
    if (rank == 1)
        MPI_Recv(&byte, 1, MPI_BYTE, 0, TAG, world, MPI_STATUS_IGNORE); /* absent 1 */
    MPI_Barrier(world);                                                 /* absent 0 */
}

static void computing(void)
{
    if (rank == 1)
        compute();
    MPI_Barrier(world); /* computing */
}

static void finalized(void)
{
    MPI_Status status;
    if (rank == 0)
        MPI_Probe(1, TAG, world, &status); /* finalized 0 */
}

/* Rank 1 ends, but its child process keeps open the connection by which the launcher would notice
 * this end. */
static void ended(void)
{
    if (rank == 0)
        MPI_Recv(&byte, 1, MPI_BYTE, 1, TAG, world, MPI_STATUS_IGNORE); /* ended 0 */
    if (fork() == 0) { /* nothing else ends the child, so it ends itself */
        nanosleep(&(struct timespec){.tv_sec = 30}, NULL);
        _exit(0);
    }
    exit(0);
}

/* Ranks 0 and 2 have a communicator of their own. Rank 1 waits for them in the communicator of all
 * ranks. */
static void part(void)
{
    MPI_Comm mine;
    MPI_Comm_split(world, rank % 2, 0, &mine);
    if (rank == 0)
        MPI_Barrier(mine); /* part 0 */
    if (rank == 2)
        MPI_Recv(&byte, 1, MPI_BYTE, 0, TAG, mine, MPI_STATUS_IGNORE); /* part 2 */
    MPI_Barrier(world);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*hang)(void);
} cases[] = {
    {"functions", functions},
    {"roots", roots},
    {"communicators", communicators},
    {"receives", receives},
    {"sends", sends},
    {"tags", tags},
    {"requests", requests},
    {"any", any},
    {"absent", absent},
    {"computing", computing},
    {"finalized", finalized},
    {"ended", ended},
    {"part", part},
};

static void write_pid(void)
{
    char name[32];
    snprintf(name, sizeof name, "pid.%d", rank);
    FILE *file = fopen(name, "w");
    if (file) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
}

/* Writes the file of this process, and does not return on rank 1. */
static void hang_before_init(void)
{
    const char *const variables[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *const text = getenv(variables[i]);
        if (text)
            rank = atoi(text);
    }
    write_pid();
    while (rank == 1)
        pause();
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "starting"))
        hang_before_init();
    MPI_Init(&argc, &argv); /* starting */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    write_pid();
    MPI_Barrier(world);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 1 && !strcmp(cases[i].name, argv[1]))
            cases[i].hang();
    }
    MPI_Finalize(); /* finalized 1 */
    return 0;
}
