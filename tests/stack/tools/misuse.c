/* SPDX-License-Identifier: MIT */
/*
 * Calls the functions of the interface wrongly, in the constructor, in init and in an MPI call.
 * Prints each call that does not return the documented error class, or that changes an output.
 * Wrong registrations pass `intruder`, which must never run. The expected error classes
 * are those for layer 2 of three layers.
 */
#include "trace.h"

#include <qmpi/observer.h>

#include <limits.h>
#include <string.h>

static int checks;

static void expect(int result, int expected, const char *call)
{
    checks++;
    if (result != expected)
        trace("misuse WRONG: %s gave %d, not %d", call, result, expected);
}

#define EXPECT(expected, call) expect(call, expected, #call)
#define BAD_ARG(call) EXPECT(MPI_ERR_ARG, call)

/* Invalid function numbers. They are int, because the enumeration type need not be able to hold all
 * of them. */
static const int bad_numbers[] = {-1, INT_MIN, MPI_LAST_FUNC, MPI_LAST_FUNC + 1, INT_MAX};
static const int bad_ids[] = {-1, INT_MIN, 0, 4, 255, 256, INT_MAX};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void intruder(void)
{
    trace("misuse WRONG: an interceptor ran that was never accepted");
}

static void second_init(int tool_id)
{
    trace("misuse WRONG: init %d of a tool that was never accepted", tool_id);
}

/* ---- Outputs must stay as they are ----------------------------------------------------------- */

static char mark; /* outputs point here before a call that must fail */

static void check_get_function(int tool_id, int number)
{
    void (*function)(void) = intruder;
    QMPI_Context next = (QMPI_Context)(const void *)&mark;
    BAD_ARG(QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)number, &function, &next));
    if (function != intruder || (const void *)next != &mark)
        trace("misuse WRONG: QMPI_Get_function(%d, %d) touched its outputs", tool_id, number);
}

static void check_about_layer(int tool_id)
{
    const char *text = &mark;
    const QMPIX_Tool_info *info = (const QMPIX_Tool_info *)(const void *)&mark;
    int flag = 77;
    BAD_ARG(QMPIX_Tool_get_name(tool_id, &text));
    BAD_ARG(QMPIX_Tool_get_library(tool_id, &text));
    BAD_ARG(QMPIX_Tool_get_option(tool_id, "key", &text));
    BAD_ARG(QMPIX_Tool_get_info(tool_id, &info));
    BAD_ARG(QMPIX_Tool_intercepts(tool_id, MPI_SEND_T, &flag));
    if (text != &mark || (const void *)info != &mark || flag != 77)
        trace("misuse WRONG: a call about layer %d touched its output", tool_id);
    check_get_function(tool_id, MPI_SEND_T);
}

static void check_numbers(int tool_id)
{
    for (size_t i = 0; i < COUNT(bad_numbers); i++) {
        const enum QMPI_Functions_enum number = (enum QMPI_Functions_enum)bad_numbers[i];
        int flag = 77;
        check_get_function(tool_id, bad_numbers[i]);
        BAD_ARG(QMPI_Register_tool_function(tool_id, number, intruder));
        BAD_ARG(QMPIX_Tool_intercepts(tool_id, number, &flag));
        BAD_ARG(QMPIX_Function_exists(number, &flag));
        checks++;
        if (QMPIX_Function_name(number) || flag != 77)
            trace("misuse WRONG: number %d has a name or a flag", bad_numbers[i]);
    }
}

static void check_layers(void)
{
    for (size_t i = 0; i < COUNT(bad_ids); i++) {
        check_about_layer(bad_ids[i]);
        BAD_ARG(QMPI_Register_tool_storage(bad_ids[i], &mark));
        BAD_ARG(QMPI_Register_tool_function(bad_ids[i], MPI_SEND_T, intruder));
        BAD_ARG(QMPIX_Tool_fail(bad_ids[i], "never"));
    }
}

static void check_null_outputs(int tool_id)
{
    void (*function)(void) = intruder;
    QMPI_Context next = NULL;
    const char *text = &mark;
    const QMPIX_Tool_info *info = NULL;
    enum QMPI_Functions_enum number = MPI_SEND_T;
    BAD_ARG(QMPI_Get_function(tool_id, MPI_SEND_T, NULL, &next));
    BAD_ARG(QMPI_Get_function(tool_id, MPI_SEND_T, &function, NULL));
    if (function != intruder || next)
        trace("misuse WRONG: QMPI_Get_function touched the output that it was given");
    BAD_ARG(QMPI_Register_tool_function(tool_id, MPI_SEND_T, NULL));
    BAD_ARG(QMPIX_Tool_fail(tool_id, NULL));
    BAD_ARG(QMPIX_Tool_get_option(tool_id, NULL, &text));
    BAD_ARG(QMPIX_Tool_get_option(tool_id, "key", NULL));
    EXPECT(MPI_ERR_INFO_NOKEY, QMPIX_Tool_get_option(tool_id, "no such key", &text));
    BAD_ARG(QMPIX_Tool_get_name(tool_id, NULL));
    BAD_ARG(QMPIX_Tool_get_library(tool_id, NULL));
    BAD_ARG(QMPIX_Tool_get_info(tool_id, NULL));
    BAD_ARG(QMPIX_Tool_intercepts(tool_id, MPI_SEND_T, NULL));
    BAD_ARG(QMPIX_Tool_count(NULL));
    int part = -1;
    BAD_ARG(QMPIX_Get_version(NULL, &part, &part));
    BAD_ARG(QMPIX_Get_version(&part, NULL, &part));
    BAD_ARG(QMPIX_Get_version(&part, &part, NULL));
    if (part != -1)
        trace("misuse WRONG: QMPIX_Get_version touched its outputs");
    BAD_ARG(QMPIX_Announced_count(NULL));
    BAD_ARG(QMPIX_Announced_get(-1, &text, &info));
    BAD_ARG(QMPIX_Announced_get(INT_MAX, &text, &info));
    BAD_ARG(QMPIX_Announced_get(0, NULL, &info));
    BAD_ARG(QMPIX_Announced_get(0, &text, NULL));
    BAD_ARG(QMPIX_Function_exists(MPI_SEND_T, NULL));
    BAD_ARG(QMPIX_Function_id(NULL, &number));
    BAD_ARG(QMPIX_Function_id("MPI_Send", NULL));
    BAD_ARG(QMPIX_Function_id("MPI_No_such_function", &number));
    BAD_ARG(QMPIX_Function_id("", &number));
    if (text != &mark || info || number != MPI_SEND_T)
        trace("misuse WRONG: a failing call touched its output");
}

static void check_contexts(QMPI_Context context, int tool_id)
{
    void *output = &mark;
    int id = 77;
    BAD_ARG(QMPI_Context_get_storage(NULL, tool_id, &output));
    BAD_ARG(QMPI_Context_get_calling_address(NULL, tool_id, &output));
    BAD_ARG(QMPIX_Context_get_tool_id(NULL, &id));
    BAD_ARG(QMPI_Context_get_storage(context, tool_id, NULL));
    BAD_ARG(QMPI_Context_get_calling_address(context, tool_id, NULL));
    BAD_ARG(QMPIX_Context_get_tool_id(context, NULL));
    for (size_t i = 0; i < COUNT(bad_ids); i++) {
        BAD_ARG(QMPI_Context_get_storage(context, bad_ids[i], &output));
        BAD_ARG(QMPI_Context_get_calling_address(context, bad_ids[i], &output));
    }
    if (output != &mark || id != 77)
        trace("misuse WRONG: a call with a context touched its output");
}

/* The test runs one process. */
static void check_ranks(int tool_id)
{
    const int *ranks = NULL;
    int count = 77;
    BAD_ARG(QMPIX_Tool_get_ranks(tool_id, NULL, &count));
    BAD_ARG(QMPIX_Tool_get_ranks(tool_id, &ranks, NULL));
    for (size_t i = 0; i < COUNT(bad_ids); i++)
        BAD_ARG(QMPIX_Tool_get_ranks(bad_ids[i], &ranks, &count));
    if (ranks || count != 77)
        trace("misuse WRONG: QMPIX_Tool_get_ranks touched its outputs");
    EXPECT(MPI_SUCCESS, QMPIX_Tool_get_ranks(tool_id, &ranks, &count));
    if (!ranks || ranks[0] != 0 || count != 1)
        trace("misuse WRONG: other ranks than 0, or %d ranks", count);
}

static void check_error_class(int code, int expected)
{
    int class = 77;
    EXPECT(MPI_SUCCESS, QMPIX_Error_class(code, &class));
    if (class != expected)
        trace("misuse WRONG: class %d of code %d", class, code);
}

static void check_error_codes(void)
{
    const int none[] = {-1,
                        INT_MIN,
                        INT_MAX,
                        0x40000001
#ifdef MPICH_ERR_LAST_CLASS
                        ,
                        MPICH_ERR_LAST_CLASS + 1,
                        MPICH_ERR_LAST_MPIX + 1
#endif
    };
    int class = 77, added, code, of_added, of_code;
    for (size_t i = 0; i < COUNT(none); i++)
        BAD_ARG(QMPIX_Error_class(none[i], &class));
    BAD_ARG(QMPIX_Error_class(MPI_ERR_RANK, NULL));
    if (class != 77)
        trace("misuse WRONG: QMPIX_Error_class touched its output");
    PMPI_Add_error_class(&added);
    PMPI_Add_error_code(added, &code);
    check_error_class(MPI_SUCCESS, MPI_SUCCESS);
    check_error_class(MPI_ERR_RANK, MPI_ERR_RANK);
    /* Open MPI 4.1 does not find the class that it has added. */
    PMPI_Error_class(added, &of_added);
    PMPI_Error_class(code, &of_code);
    check_error_class(added, of_added);
    check_error_class(code, of_code);
    BAD_ARG(QMPIX_Error_class(INT_MAX, &class));
}

/* ---- In the constructor, in an MPI call, in the finalizer, and in init ----------------------- */

static void check_announcing(void (*init)(int))
{
    static char long_name[300];
    static const QMPIX_Tool_info good = {.size = sizeof good, .description = "never seen"};
    static const QMPIX_Tool_info small = {.size = 1, .description = "never seen"};
    memset(long_name, 'n', 256);
    BAD_ARG(QMPI_Register_tool_name(NULL, second_init));
    BAD_ARG(QMPI_Register_tool_name("misuse-two", NULL));
    BAD_ARG(QMPI_Register_tool_name("", second_init));
    BAD_ARG(QMPI_Register_tool_name("a/b", second_init));
    BAD_ARG(QMPI_Register_tool_name(long_name, second_init));
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_name("misuse", init));
    /* The first registration stays valid. */
    BAD_ARG(QMPI_Register_tool_name("misuse", second_init));
    BAD_ARG(QMPIX_Register_tool_info(NULL, &good));
    BAD_ARG(QMPIX_Register_tool_info("misuse", NULL));
    BAD_ARG(QMPIX_Register_tool_info("misuse", &small));
    BAD_ARG(QMPIX_Register_tool_info("no such tool", &good));
}

static int misuse_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    static const QMPIX_Tool_info unseen = {.size = sizeof unseen, .description = "never seen"};
    int tool_id = -1;
    QMPIX_Context_get_tool_id(context, &tool_id);
    trace("misuse %d MPI_Comm_rank", tool_id);
    EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_name("latecomer", second_init));
    EXPECT(MPI_ERR_OTHER, QMPIX_Register_tool_info("misuse", &unseen));
    EXPECT(MPI_ERR_OTHER, QMPIX_Tool_fail(tool_id, "too late"));
    for (int layer = 1; layer <= 3; layer++)
        EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_storage(layer, &mark));
    check_layers();
    check_numbers(tool_id);
    check_null_outputs(tool_id);
    check_contexts(context, tool_id);
    check_ranks(tool_id);
    check_error_codes();
    void *storage = NULL;
    EXPECT(MPI_SUCCESS, QMPI_Context_get_storage(context, tool_id, &storage));
    if (storage != &checks)
        trace("misuse WRONG: the storage was replaced");
    trace("misuse made more than 250 checks: %s", checks > 250 ? "yes" : "no");
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

static void intruding_finalizer(int tool_id, uint64_t ticks)
{
    (void)ticks;
    trace("misuse WRONG: finalizer of layer %d that was replaced", tool_id);
}

static void finalizer(int tool_id, uint64_t ticks)
{
    int finalized = 1, size = 0;
    PMPI_Finalized(&finalized);
    EXPECT(MPI_SUCCESS, PMPI_Comm_size(MPI_COMM_WORLD, &size));
    trace("misuse finalizer of layer %d: %s, %s", tool_id, finalized ? "finalized" : "active",
          ticks ? "timed" : "without time");
}

static void init(int tool_id)
{
    EXPECT(MPI_SUCCESS, QMPI_Register_tool_storage(tool_id, &checks));
    EXPECT(MPI_SUCCESS,
           QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))misuse_rank));
    for (int other = 1; other <= 3; other++) {
        if (other == tool_id)
            continue;
        EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_function(other, MPI_COMM_SIZE_T, intruder));
        EXPECT(MPI_ERR_OTHER, QMPI_Register_tool_storage(other, &mark));
        EXPECT(MPI_ERR_OTHER, QMPIX_Tool_fail(other, "never"));
    }
    for (int other = 0; other <= 4; other++) {
        if (other != tool_id)
            EXPECT(other >= 1 && other <= 3 ? MPI_ERR_OTHER : MPI_ERR_ARG,
                   QMPIX_Register_finalizer(other, finalizer));
    }
    EXPECT(MPI_ERR_ARG, QMPIX_Register_finalizer(tool_id, NULL));
    EXPECT(MPI_SUCCESS, QMPIX_Register_finalizer(tool_id, intruding_finalizer));
    EXPECT(MPI_SUCCESS, QMPIX_Register_finalizer(tool_id, finalizer)); /* replaces the first one */
    /* These calls fail, because MPI is not initialized. */
    MPI_Comm comm;
    const int *ranks;
    int count;
    EXPECT(MPI_ERR_OTHER, QMPIX_Tool_get_ranks(tool_id, &ranks, &count));
    EXPECT(MPI_ERR_OTHER, QMPIX_Tool_create_comm(tool_id, &comm));
    /* Layer 1, which is above, is not initialized yet, so its next functions are not known. */
    check_get_function(1, MPI_SEND_T);
    check_layers();
    check_numbers(tool_id);
    check_null_outputs(tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    check_announcing(init);
    /* QMPIX_Tool_count refuses NULL also before start-up, when there are no layers. */
    if (QMPIX_Tool_count(NULL) != MPI_ERR_ARG)
        trace("misuse WRONG: QMPIX_Tool_count(NULL)");
}
