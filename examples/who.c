/* SPDX-License-Identifier: MIT */
/*
 * A tool about tools. When MPI has been initialized, it prints the layers of the stack, the library
 * of each layer, and the path of one function through the stack. Such a tool could also switch
 * layers off (QMPIX_Tool_set_enabled), or read what they publish through MPI_T.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <qmpi/qmpi.h>
#include <stdio.h>
#include <stdlib.h>

static void describe(int tool_id, int this_id)
{
    const char *name = "", *library = "", *binding = "";
    const QMPIX_Tool_info *info = NULL;
    QMPIX_Tool_get_name(tool_id, &name);
    QMPIX_Tool_get_library(tool_id, &library);
    QMPIX_Tool_get_binding(tool_id, &binding);
    QMPIX_Tool_get_info(tool_id, &info);
    fprintf(stderr, "who: layer %d is %s%s: %s\n", tool_id, name,
            tool_id == this_id ? " (this tool)" : "",
            info && info->description ? info->description : "no description");
    fprintf(stderr, "who:   from %s, %s\n", library, binding);
}

/* Prints the layers that a call of the function passes, from the application down to the MPI
 * library. The whole line is written at once, because parts would mix with lines of other layers
 * and processes. */
static void draw_chain(int count, const char *function, enum QMPI_Functions_enum number)
{
    char *line = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&line, &length);
    if (!stream)
        return;
    fprintf(stream, "who: %s goes", function);
    for (int tool_id = 1; tool_id <= count; tool_id++) {
        const char *name = "";
        int flag = 0;
        QMPIX_Tool_get_name(tool_id, &name);
        if (QMPIX_Tool_intercepts(tool_id, number, &flag) == MPI_SUCCESS && flag)
            fprintf(stream, " %s >", name);
    }
    fprintf(stream, " P%s\n", function);
    if (fclose(stream) == 0)
        fputs(line, stderr);
    free(line);
}

static void tell(QMPI_Context c)
{
    int count = 0, this_id = 0, rank = 0;
    const char *function = NULL;
    enum QMPI_Functions_enum number;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank)
        return;
    QMPIX_Context_get_tool_id(c, &this_id);
    QMPIX_Tool_count(&count);
    for (int tool_id = 1; tool_id <= count; tool_id++)
        describe(tool_id, this_id);
    QMPIX_Tool_get_option(this_id, "function", &function);
    if (QMPIX_Function_id(function, &number) == MPI_SUCCESS)
        draw_chain(count, function, number);
}

static int my_Init(QMPI_Context c, int *argc, char ***argv)
{
    const int result = QMPIX_NEXT(c, Init)(QMPIX_NEXT_CONTEXT(c), argc, argv);
    if (result == MPI_SUCCESS)
        tell(c);
    return result;
}

static int my_Init_thread(QMPI_Context c, int *argc, char ***argv, int required, int *provided)
{
    const int result =
        QMPIX_NEXT(c, Init_thread)(QMPIX_NEXT_CONTEXT(c), argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        tell(c);
    return result;
}

static void init(int tool_id)
{
    const char *function = NULL;
    enum QMPI_Functions_enum number;
    QMPIX_Tool_get_option(tool_id, "function", &function);
    if (QMPIX_Function_id(function, &number) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "function= does not name an MPI function\n"
                                 "hint: give the C name of a function, such as MPI_Send");
    QMPIX_REGISTER(tool_id, Init, my_Init);
    QMPIX_REGISTER(tool_id, Init_thread, my_Init_thread);
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = {
        {"function", "MPI_Send", "show the path of this function through the stack"}, {0}};
    static const QMPIX_Tool_info info = {
        .size = sizeof info, .description = "prints the layers of the stack", .options = options};
    QMPI_Register_tool_name("who", init);
    QMPIX_Register_tool_info("who", &info);
}
