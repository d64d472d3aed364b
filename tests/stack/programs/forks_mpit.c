/* SPDX-License-Identifier: MIT */
/*
 * Contains a tool with a publisher, the function that libqmpi calls to publish MPI_T variables.
 * This one only waits. The program forks while another thread is in the publisher, and prints
 * whether the child can initialize MPI_T.
 */
#define _GNU_SOURCE
#include <qmpi/mpit.h>
#include <qmpi/qmpi.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 10 };

/* Pipes that are written to when the publisher has begun, and when it may continue. */
static int begun[2], go_on[2];

static void publish(int tool_id)
{
    char byte = (char)tool_id;
    if (write(begun[1], &byte, 1) == 1 && read(go_on[0], &byte, 1) != 1)
        fprintf(stderr, "forks_mpit: nobody let the publisher end\n");
}

static void init(int tool_id)
{
    QMPIX_Register_publisher(tool_id, publish);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("waiting", init);
}

static void *initialize(void *unused)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    return unused;
}

static int be_child(void)
{
    int provided;
    alarm(SECONDS); /* kills a process that hangs */
    return MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int provided, status = -1;
    char byte = 0;
    pthread_t thread;
    if (pipe(begun) || pipe(go_on))
        return 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, initialize, NULL);
    if (read(begun[0], &byte, 1) != 1)
        return 1;
    const pid_t child = fork();
    if (child == 0)
        _exit(be_child());
    waitpid(child, &status, 0);
    if (write(go_on[1], &byte, 1) != 1)
        return 1;
    pthread_join(thread, NULL);
    printf("the child %s\n", status == 0 ? "initialized MPI_T" : "could not initialize MPI_T");
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
