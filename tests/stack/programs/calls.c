/* SPDX-License-Identifier: MIT */
/*
 * An application that makes the MPI calls listed on its command line, for example
 * `calls init comm_rank finalize`, and prints the result of each step on stdout. Before each step,
 * it prints `trace: app STEP` on stderr, between the notes of the test tools. An unknown step ends
 * the program with status 99.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef MPI_SESSION_NULL
static MPI_Session session;
#endif

/* Sets `*received` to the received value and `*tag` to the tag in the status. */
static int send_to_self(int *received, int *tag)
{
    int sent = 5;
    MPI_Status status;
    const int result =
        MPI_Sendrecv(&sent, 1, MPI_INT, 0, 3, received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &status);
    *tag = status.MPI_TAG;
    return result;
}

static void run_step(const char *step)
{
    int flag = 0, number = -1, number2 = -1, result = MPI_SUCCESS;
    if (!strcmp(step, "init"))
        result = MPI_Init(NULL, NULL);
    else if (!strcmp(step, "init_thread"))
        result = MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &number);
    else if (!strcmp(step, "init_multiple"))
        result = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &number);
    else if (!strcmp(step, "initialized"))
        result = MPI_Initialized(&flag);
#ifdef MPI_SESSION_NULL
    else if (!strcmp(step, "session_init"))
        result = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    else if (!strcmp(step, "session_finalize"))
        result = MPI_Session_finalize(&session);
#endif
    else if (!strcmp(step, "t_init_thread"))
        result = MPI_T_init_thread(MPI_THREAD_SINGLE, &number);
    else if (!strcmp(step, "t_finalize"))
        result = MPI_T_finalize();
    else if (!strcmp(step, "wtime"))
        flag = MPI_Wtime() >= 0; /* Open MPI's first time is 0 */
    else if (!strcmp(step, "get_version"))
        result = MPI_Get_version(&number, &number2);
    else if (!strcmp(step, "comm_rank"))
        result = MPI_Comm_rank(MPI_COMM_WORLD, &number);
    else if (!strcmp(step, "comm_size"))
        result = MPI_Comm_size(MPI_COMM_WORLD, &number);
    else if (!strcmp(step, "sendrecv"))
        result = send_to_self(&number, &number2);
    else if (!strcmp(step, "barrier"))
        result = MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(step, "pcontrol"))
        result = MPI_Pcontrol(2, "region", 7);
    else if (!strcmp(step, "finalize"))
        result = MPI_Finalize();
    else if (!strcmp(step, "finalized"))
        result = MPI_Finalized(&flag);
    else if (!strncmp(step, "await=", 6)) /* waits until a file exists */
        while (access(step + 6, F_OK))
            usleep(1000);
    else if (!strncmp(step, "abort=", 6))
        result = MPI_Abort(MPI_COMM_WORLD, atoi(step + 6));
    else if (!strcmp(step, "kill"))
        raise(SIGKILL);
    else
        exit(99);
    printf("%s: result %d, flag %d, numbers %d %d\n", step, result, flag, number, number2);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        dprintf(2, "trace: app %s\n", argv[i]);
        run_step(argv[i]);
    }
    return 0;
}
