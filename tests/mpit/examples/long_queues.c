/* SPDX-License-Identifier: MIT */
/*
 * The MPI standard's example of a tool that uses performance variables (MPI 4.0, section 15.3.7
 * "Performance Variables", "Detecting receives with long unexpected message queues"): a PMPI tool
 * that only uses the standard. Where the example leaves the action open, this tool prints a line on
 * stderr. Unless compiled with MPICH's mpi.h, it also passes over variables that no longer exist.
 */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define THRESHOLD 5

/* Global variables for the tool */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

int MPI_Init(int *argc, char ***argv)
{
    int err, num, i, index, namelen, verbosity;
    int var_class, bind, threadsup;
    int readonly, continuous, atomic, count;
    char name[18];
    MPI_Comm comm;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;

    err = PMPI_Init(argc, argv);
    if (err != MPI_SUCCESS)
        return err;

    err = PMPI_T_init_thread(MPI_THREAD_SINGLE, &threadsup);
    if (err != MPI_SUCCESS)
        return err;

    err = PMPI_T_pvar_get_num(&num);
    if (err != MPI_SUCCESS)
        return err;
    index = -1;
    i = 0;
    while ((i < num) && (index < 0) && (err == MPI_SUCCESS)) {
        /* Pass a buffer that is at least one character longer than the name of the variable being
         * searched for to avoid finding variables that have a name that has a prefix equal to the
         * name of the variable being searched. */
        namelen = 18;
        err = PMPI_T_pvar_get_info(i, name, &namelen, &verbosity, &var_class, &datatype, &enumtype,
                                   NULL, NULL, &bind, &readonly, &continuous, &atomic);
#if defined(OPEN_MPI) || defined(MPI_ABI_VERSION)
        /* The call fails for a variable that no longer exists. Without these lines, the standard's
         * loop would end here. */
        if (err != MPI_SUCCESS)
            name[0] = '\0';
        err = MPI_SUCCESS;
#endif
        if (strcmp(name, "MPI_T_UMQ_LENGTH") == 0)
            index = i;
        i++;
    }
    if (err != MPI_SUCCESS)
        return err;

    /* this could be handled in a more flexible way for a generic tool */
    assert(index >= 0);
    assert(var_class == MPI_T_PVAR_CLASS_LEVEL);
    assert(datatype == MPI_INT);
    assert(bind == MPI_T_BIND_MPI_COMM);

    /* Create a session */
    err = PMPI_T_pvar_session_create(&session);
    if (err != MPI_SUCCESS)
        return err;

    /* Get a handle and bind to MPI_COMM_WORLD */
    comm = MPI_COMM_WORLD;
    err = PMPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count);
    if (err != MPI_SUCCESS)
        return err;

    /* this could be handled in a more flexible way for a generic tool */
    assert(count == 1);

    /* Start variable */
    err = PMPI_T_pvar_start(session, handle);
    if (err != MPI_SUCCESS)
        return err;

    return MPI_SUCCESS;
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    int value, err;

    if (comm == MPI_COMM_WORLD) {
        err = PMPI_T_pvar_read(session, handle, &value);
        if ((err == MPI_SUCCESS) && (value > THRESHOLD)) {
            /* tool identified receive called with long UMQ */
            fprintf(stderr, "trace: receive with %d unexpected messages\n", value);
        }
    }

    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

int MPI_Finalize(void)
{
    int err;
    err = PMPI_T_pvar_handle_free(session, &handle);
    if (err == MPI_SUCCESS)
        err = PMPI_T_pvar_session_free(&session);
    if (err == MPI_SUCCESS)
        err = PMPI_T_finalize();
    if (err != MPI_SUCCESS)
        fprintf(stderr, "trace: the end failed: %d\n", err);
    return PMPI_Finalize();
}
