/* SPDX-License-Identifier: MIT */
/*
 * An observer of chosen functions. Each callback prints `chosen TOOL_ID MPI_X`. Options:
 *   functions=MPI_Send+MPI_Barrier   observes these functions; `lacking` stands for one that
 *                                    this MPI lacks
 *   groups=NUMBER                    observes these groups (the sum of QMPIX_GROUP_… constants)
 *   only=before, only=after          has only this callback
 *   twice=yes                        first registers an observer of all functions
 *   tell=yes    init prints `chosen TOOL_ID intercepts MPI_X` for each function that libqmpi
 *               intercepts for the layer
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>

static void callback(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    trace("chosen %d %s", call->context->tool_id, call->function->name);
}

static int read_functions(const char *list, enum QMPI_Functions_enum *functions)
{
    char text[512];
    int count = 0;
    snprintf(text, sizeof text, "%s", list);
    for (char *name = strtok(text, "+"); name; name = strtok(NULL, "+")) {
        if (!strcmp(name, "lacking")) {
            int exists = 1, number = 0;
            while (QMPIX_Function_exists((enum QMPI_Functions_enum)number, &exists) ==
                       MPI_SUCCESS &&
                   exists)
                number++;
            functions[count++] = (enum QMPI_Functions_enum)number;
        } else if (QMPIX_Function_id(name, &functions[count]) == MPI_SUCCESS) {
            count++;
        }
    }
    return count;
}

static void tell_functions(int tool_id)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum function = (enum QMPI_Functions_enum)number;
        int flag = 0;
        if (QMPIX_Tool_intercepts(tool_id, function, &flag) == MPI_SUCCESS && flag)
            trace("chosen %d intercepts %s", tool_id, QMPIX_Function_name(function));
    }
}

static void init(int tool_id)
{
    const char *functions = NULL, *groups = NULL, *only = NULL, *twice = NULL;
    const char *tell = NULL;
    QMPIX_Tool_get_option(tool_id, "tell", &tell);
    QMPIX_Tool_get_option(tool_id, "functions", &functions);
    QMPIX_Tool_get_option(tool_id, "groups", &groups);
    QMPIX_Tool_get_option(tool_id, "only", &only);
    QMPIX_Tool_get_option(tool_id, "twice", &twice);
    /* libqmpi must copy these variables, because they no longer exist when init has returned. */
    enum QMPI_Functions_enum numbers[64];
    QMPIX_Observer observer = {.size = sizeof observer, .before = callback, .after = callback};
    if (twice && QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
    if (functions) {
        observer.function_count = read_functions(functions, numbers);
        observer.functions = numbers;
    }
    if (groups)
        observer.groups = (unsigned)strtoul(groups, NULL, 0);
    if (only)
        *(strcmp(only, "before") ? &observer.before : &observer.after) = NULL;
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
    memset(numbers, 0xff, sizeof numbers);
    if (tell)
        tell_functions(tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("chosen", init);
}
