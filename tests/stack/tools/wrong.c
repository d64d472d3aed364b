/* SPDX-License-Identifier: MIT */
/*
 * Breaks one rule of tools, which its option `does` names, mostly in MPI_Comm_rank. Validation
 * finds each of them: see tests/stack/test_validate.py.
 */
#include <qmpi/observer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *does = "";
static QMPI_Context other_context; /* of MPI_Comm_size */
static int own_id;

static int is(const char *what)
{
    return !strcmp(does, what);
}

static int my_Comm_size(QMPI_Context c, MPI_Comm comm, int *size)
{
    other_context = c;
    return QMPIX_NEXT(c, Comm_size)(QMPIX_NEXT_CONTEXT(c), comm, size);
}

struct call {
    QMPI_Context context;
    MPI_Comm comm;
    int *rank;
    int result;
};

static void *call_next(void *data)
{
    struct call *call = data;
    call->result = QMPIX_NEXT(call->context, Comm_rank)(QMPIX_NEXT_CONTEXT(call->context),
                                                        call->comm, call->rank);
    return NULL;
}

static int call_in_thread(QMPI_Context c, MPI_Comm comm, int *rank)
{
    struct call call = {c, comm, rank, MPI_SUCCESS};
    pthread_t thread;
    pthread_create(&thread, NULL, call_next, &call);
    pthread_join(thread, NULL);
    return call.result;
}

static int my_Init(QMPI_Context c, int *argc, char ***argv)
{
    return QMPIX_NEXT(c, Init)(QMPIX_NEXT_CONTEXT(c), argc, argv);
}

static int call_size(MPI_Comm comm, int *size)
{
    void (*function)(void);
    QMPI_Context next;
    if (QMPI_Get_function(own_id, MPI_COMM_SIZE_T, &function, &next) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    return ((QMPI_Comm_size_t *)function)(next, comm, size);
}

static int my_Comm_rank(QMPI_Context c, MPI_Comm comm, int *rank)
{
    QMPI_Comm_rank_t *const next = QMPIX_NEXT(c, Comm_rank);
    const QMPI_Context below = QMPIX_NEXT_CONTEXT(c);
    int mine = 0, result;
    if (is("drops")) {
        *rank = 0;
        return MPI_SUCCESS;
    }
    if (is("uses-pmpi"))
        return PMPI_Comm_rank(comm, rank);
    if (is("waits-for-all"))
        PMPI_Barrier(comm);
    if (is("repeats")) {
        next(below, comm, rank);
        return next(below, comm, rank);
    }
    if (is("uses-thread"))
        return call_in_thread(c, comm, rank);
    if (is("calls-other"))
        return call_size(comm, rank);
    if (is("passes-own"))
        return next(c, comm, rank);
    if (is("passes-other"))
        return next(other_context->next, comm, rank);
    if (is("changes-argument"))
        return next(below, MPI_COMM_SELF, rank);
    if (is("changes-result")) {
        next(below, comm, rank);
        return MPI_ERR_OTHER;
    }
    if (is("keeps-output")) {
        *rank = -1;
        return next(below, comm, &mine);
    }
    if (is("changes-output")) {
        result = next(below, comm, rank);
        *rank += 1;
        return result;
    }
    if (is("calls-mpi")) {
        MPI_Comm_size(comm, &mine);
        return next(below, comm, rank);
    }
    if (is("prints"))
        puts("rank");
    if (is("prints-to-stream"))
        fprintf(stdout, "rank %p\n", (void *)rank);
    if (is("recurs"))
        return MPI_Comm_rank(comm, rank);
    result = next(below, comm, &mine); /* right: a variable of its own */
    *rank = mine;
    return result;
}

static int my_Finalize(QMPI_Context c)
{
    void (*function)(void);
    QMPI_Context next;
    int flag, size;
    const int result = QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
    PMPI_Finalized(&flag);
    if (is("outlives-mpi-by-pmpi")) {
        char name[MPI_MAX_PROCESSOR_NAME];
        PMPI_Get_processor_name(name, &size);
    }
    if (is("outlives-mpi") &&
        QMPI_Get_function(own_id, MPI_GET_PROCESSOR_NAME_T, &function, &next) == MPI_SUCCESS) {
        char name[MPI_MAX_PROCESSOR_NAME];
        ((QMPI_Get_processor_name_t *)function)(next, name, &size);
    }
    return result;
}

QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context c, const int level, ...)
{
    return QMPIX_NEXT(c, Pcontrol)(QMPIX_NEXT_CONTEXT(c), level); /* without its words */
}

static void init(int tool_id)
{
    QMPIX_Tool_get_option(tool_id, "does", &does);
    own_id = tool_id;
    if (is("exits"))
        exit(7);
    if (is("registers-badly")) {
        const QMPIX_Observer observer = {.size = 0};
        QMPIX_Register_tool_observer(tool_id, &observer);
        QMPI_Register_tool_function(tool_id, (enum QMPI_Functions_enum) - 1, NULL);
    }
    QMPIX_REGISTER(tool_id, Comm_size, my_Comm_size);
    QMPIX_REGISTER(tool_id, Comm_rank, my_Comm_rank);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
    if (is("lacks-variant"))
        QMPIX_REGISTER(tool_id, Init, my_Init); /* and not MPI_Init_thread */
    if (is("loses-words"))
        QMPIX_REGISTER(tool_id, Pcontrol, my_Pcontrol);
    if (is("declares-all")) {
        const char *const names[] = {"changes-calls", "changes-arguments", "changes-results", NULL};
        QMPIX_Tool_declare(tool_id, 0, names, NULL);
        does = "drops";
    }
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("wrong", init);
}
