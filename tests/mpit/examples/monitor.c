/* SPDX-License-Identifier: MIT */
/*
 * An application that monitors itself. It makes four rounds of 100 calls of MPI_Sendrecv of 10 ints
 * with itself, half of them in a second thread. Before the first round and after each round, it
 * prints the performance variables that its command line names. After each of these rounds, it then
 * calls MPI_Pcontrol(2). After the second one, it writes 0 to the control variable given as
 * `off=NAME`; after the fourth one, it resets all handles and prints the variables again.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 16, CALLS = 100, ROUNDS = 4 };

static struct variable {
    MPI_T_pvar_handle handle;
    int is_real;
} variables[VARIABLES];
static int variable_count;
static MPI_T_pvar_session session;

static void check(int result, const char *what)
{
    if (result == MPI_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, result);
    exit(1);
}

static void open_variable(const char *wanted)
{
    int num, count;
    check(MPI_T_pvar_get_num(&num), "pvar_get_num");
    for (int i = 0; i < num; i++) {
        char name[128];
        int length = sizeof name, var_class;
        MPI_Datatype datatype;
        /* The call fails if Open MPI has removed the variable. */
        if (MPI_T_pvar_get_info(i, name, &length, NULL, &var_class, &datatype, NULL, NULL, NULL,
                                NULL, NULL, NULL, NULL) != MPI_SUCCESS ||
            strcmp(name, wanted) != 0)
            continue;
        struct variable *variable = &variables[variable_count++];
        variable->is_real = datatype == MPI_DOUBLE;
        check(MPI_T_pvar_handle_alloc(session, i, NULL, &variable->handle, &count), wanted);
        return;
    }
    check(-1, wanted);
}

static void print_variables(const char *when)
{
    printf("%s", when);
    for (int i = 0; i < variable_count; i++) {
        unsigned long long number;
        double real;
        void *buffer = variables[i].is_real ? (void *)&real : (void *)&number;
        check(MPI_T_pvar_read(session, variables[i].handle, buffer), "pvar_read");
        if (variables[i].is_real)
            printf(" %.9f", real);
        else
            printf(" %llu", number);
    }
    printf("\n");
}

static void *exchange(void *unused)
{
    int sent[10] = {0}, received[10];
    for (int i = 0; i < CALLS / 2; i++)
        MPI_Sendrecv(sent, 10, MPI_INT, 0, 1, received, 10, MPI_INT, 0, 1, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    return unused;
}

static void switch_off(const char *name)
{
    const int off = 0;
    int index, count;
    MPI_T_cvar_handle handle;
    check(MPI_T_cvar_get_index(name, &index), name);
    check(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), name);
    check(MPI_T_cvar_write(handle, &off), name);
    check(MPI_T_cvar_handle_free(&handle), name);
}

int main(int argc, char **argv)
{
    int provided;
    const char *off = NULL;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), "init_thread");
    check(MPI_T_pvar_session_create(&session), "session_create");
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "off=", 4))
            off = argv[i] + 4;
        else
            open_variable(argv[i]);
    }
    print_variables("0");
    for (int round = 1; round <= ROUNDS; round++) {
        char when[16];
        pthread_create(&thread, NULL, exchange, NULL);
        pthread_join(thread, NULL);
        exchange(NULL);
        snprintf(when, sizeof when, "%d", round);
        print_variables(when);
        MPI_Pcontrol(2);
        if (round == 2 && off)
            switch_off(off);
    }
    check(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), "reset");
    print_variables("reset");
    check(MPI_T_pvar_session_free(&session), "session_free");
    check(MPI_T_finalize(), "finalize");
    MPI_Finalize();
    return 0;
}
