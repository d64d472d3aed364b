/* SPDX-License-Identifier: MIT */
/*
 * Uses every call of MPICH's variant wrongly: before there is a stack, in init, inside MPI calls,
 * after MPI_Finalize and at exit. Prints each use that did not return the documented error class or
 * that changed an output. `intruder` must never run. The tool must be the second layer of three.
 */
#include "trace.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

enum { HEIGHT = 3 };

static int checks;
static char mark;

static void expect(int result, int expected, const char *call, const char *when)
{
    checks++;
    if (result != expected)
        trace("wrong WRONG: %s %s gave %d, not %d", call, when, result, expected);
}

#define EXPECT(expected, call) expect(call, expected, #call, when)
#define BAD_ARG(call) EXPECT(MPI_ERR_ARG, call)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const int bad_numbers[] = {-1, INT_MIN, MPI_LAST_FUNC_T, MPI_LAST_FUNC_T + 1, INT_MAX};
static const int bad_ids[] = {-1, INT_MIN, HEIGHT + 1, 255, 256, 257, 512, INT_MAX};
static const QMPI_Context no_context = {NULL};

static void intruder(void)
{
    trace("wrong WRONG: an interceptor ran that was refused or replaced");
}

static void check_get_function(int tool_id, int number, const char *when)
{
    void (*function)(void) = intruder;
    int next = -77;
    BAD_ARG(QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)number, &function, &next));
    BAD_ARG(QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)number, NULL, &next));
    BAD_ARG(QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)number, &function, NULL));
    if (function != intruder || next != -77)
        trace("wrong WRONG: QMPI_Get_function(%d, %d) %s touched its outputs", tool_id, number,
              when);
}

static void check_ids(const char *when)
{
    for (size_t i = 0; i < COUNT(bad_ids); i++) {
        void *storage = &mark;
        check_get_function(bad_ids[i], MPI_SEND_T, when);
        BAD_ARG(QMPI_Get_tool_storage(no_context, bad_ids[i], &storage));
        BAD_ARG(QMPI_Register_tool_storage(bad_ids[i], &mark));
        BAD_ARG(QMPI_Register_function(bad_ids[i], MPI_SEND_T, intruder));
        if (storage != &mark)
            trace("wrong WRONG: QMPI_Get_tool_storage(%d) %s touched its output", bad_ids[i], when);
    }
    /* Tool 0 is both ends of the stack, MPI_X and the MPI library: nothing can be registered for
     * it. */
    BAD_ARG(QMPI_Register_tool_storage(0, &mark));
    BAD_ARG(QMPI_Register_function(0, MPI_SEND_T, intruder));
}

static void check_layer(int tool_id, const char *when)
{
    for (size_t i = 0; i < COUNT(bad_numbers); i++) {
        check_get_function(tool_id, bad_numbers[i], when);
        check_get_function(0, bad_numbers[i], when);
        BAD_ARG(
            QMPI_Register_function(tool_id, (enum QMPI_Functions_enum)bad_numbers[i], intruder));
    }
    BAD_ARG(QMPI_Register_function(tool_id, MPI_SEND_T, NULL));
    BAD_ARG(QMPI_Get_tool_storage(no_context, tool_id, NULL));
    BAD_ARG(QMPI_Get_calling_address(no_context, NULL));
}

/* After init, functions can no longer be registered, but storage still can. */
static void check_later(int tool_id, const char *when)
{
    void *storage = NULL;
    check_ids(when);
    check_layer(tool_id, when);
    EXPECT(MPI_ERR_OTHER, QMPI_Register_function(tool_id, MPI_SEND_T, intruder));
    EXPECT(MPI_ERR_OTHER, QMPI_Register_function(tool_id + 1, MPI_SEND_T, intruder));
    EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_name("too late", (void (*)(int))intruder));
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_storage(tool_id, &checks));
    EXPECT(MPI_SUCCESS, QMPI_Get_tool_storage(no_context, tool_id, &storage));
    if (storage != &checks)
        trace("wrong WRONG: data that were stored %s are lost", when);
    EXPECT(MPI_SUCCESS, QMPI_Get_tool_storage(no_context, 0, &storage));
    if (storage)
        trace("wrong WRONG: tool 0 has data %s", when);
}

static int wrong_Comm_rank(QMPI_Context context, int tool_id, MPI_Comm comm, int *rank)
{
    void (*function)(void) = NULL;
    int next = -1;
    check_later(tool_id, "in a call");
    QMPI_Get_function(tool_id, MPI_COMM_RANK_T, &function, &next);
    trace("wrong %d MPI_Comm_rank, next %d", tool_id, next);
    return ((QMPI_Comm_rank_t *)function)(context, next, comm, rank);
}

static int wrong_Finalized(QMPI_Context context, int tool_id, int *flag)
{
    void (*function)(void) = NULL;
    int next = -1;
    check_later(tool_id, "after MPI_Finalize");
    QMPI_Get_function(tool_id, MPI_FINALIZED_T, &function, &next);
    trace("wrong %d MPI_Finalized", tool_id);
    return ((QMPI_Finalized_t *)function)(context, next, flag);
}

/* The function below tool 0 is the one that MPI_X itself calls. */
static void check_first(void)
{
    const char *when = "at exit";
    void (*function)(void) = intruder;
    int next = -1;
    EXPECT(MPI_SUCCESS, QMPI_Get_function(0, MPI_COMM_RANK_T, &function, &next));
    if (next != 1)
        trace("wrong WRONG: below tool 0 is %d", next);
    EXPECT(MPI_SUCCESS, QMPI_Get_function(HEIGHT, MPI_COMM_RANK_T, &function, &next));
    if (next != 0)
        trace("wrong WRONG: below the last tool is %d", next);
}

static int layer;

static void init(int tool_id)
{
    const char *when = "in init";
    layer = tool_id;
    check_ids(when);
    check_layer(tool_id, when);
    check_get_function(0, MPI_SEND_T, when);           /* this tool's functions are not known yet */
    check_get_function(tool_id - 1, MPI_SEND_T, when); /* nor is what the layer above calls next */
    EXPECT(MPI_ERR_OTHER, QMPI_Register_function(tool_id - 1, MPI_SEND_T, intruder));
    EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_storage(tool_id - 1, &mark));
    EXPECT(MPI_SUCCESS, QMPI_Register_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))intruder));
    EXPECT(MPI_SUCCESS,
           QMPI_Register_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))wrong_Comm_rank));
    EXPECT(MPI_SUCCESS,
           QMPI_Register_function(tool_id, MPI_FINALIZED_T, (void (*)(void))wrong_Finalized));
}

__attribute__((constructor)) static void register_tool(void)
{
    const char *when = "before there is a stack";
    void *storage = &mark;
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name(NULL, init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("wrong", NULL));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("", init));
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_name("wrong", init));
    EXPECT(MPI_ERR_ARG, QMPI_Register_tool_name("wrong", init));
    BAD_ARG(QMPI_Get_tool_storage(no_context, 256, &storage));
    BAD_ARG(QMPI_Register_function(256, MPI_SEND_T, intruder));
}

__attribute__((destructor)) static void count(void)
{
    check_later(layer, "at exit");
    check_first();
    trace("wrong made more than 300 checks: %s", checks > 300 ? "yes" : "no");
}
