/* SPDX-License-Identifier: MIT */
/*
 * qmpi check: builds the stack in this process, exactly as a run would, and shows it. Errors are
 * therefore those of a run, in the same words and with the same exit status.
 */
#define _GNU_SOURCE
#include "cli.h"

#include "message.h"
#include "names.h"

#include <qmpi/qmpi.h>

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0, "the stack to check (default: QMPI_TOOLS)", 0},
    {0},
};

static const char doc[] = "Show what a stack of tools would do, without an MPI run: every layer, "
                          "its library, its options and the "
                          "functions that it intercepts.\vWhat is wrong with the stack is said as "
                          "a run would say it; the exit "
                          "status is then 2.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    if (key == 't')
        return setenv("QMPI_TOOLS", argument, 1);
    if (key == ARGP_KEY_ARG)
        argp_error(state, "'%s' is not expected: give the stack with -t", argument);
    return ARGP_ERR_UNKNOWN;
}

static void print_options(int tool_id, const QMPIX_Tool_info *info)
{
    for (const QMPIX_Tool_option *option = info->options; option && option->name; option++) {
        const char *value;
        printf("  option      %s", option->name);
        if (QMPIX_Tool_get_option(tool_id, option->name, &value) == MPI_SUCCESS)
            printf("=%s", value);
        printf("  (%s)\n", option->help ? option->help : "");
    }
}

static void print_functions(int tool_id)
{
    int count = 0, existing = 0, flag;
    for (int number = 0; number < qmpi_name_count; number++) {
        existing += qmpi_names[number].exists;
        if (qmpi_names[number].exists &&
            QMPIX_Tool_intercepts(tool_id, (enum QMPI_Functions_enum)number, &flag) == MPI_SUCCESS)
            count += flag;
    }
    if (count == existing) {
        printf("  intercepts  all %d functions\n", count);
        return;
    }
    printf("  intercepts  %d of %d functions%s", count, existing, count ? ":" : "");
    int column = 100;
    for (int number = 0; number < qmpi_name_count; number++) {
        if (QMPIX_Tool_intercepts(tool_id, (enum QMPI_Functions_enum)number, &flag) !=
                MPI_SUCCESS ||
            !flag)
            continue;
        const char *name = qmpi_names[number].name;
        if (column + 1 + (int)strlen(name) > 96) {
            printf("\n     ");
            column = 5;
        }
        column += printf(" %s", name);
    }
    printf("\n");
}

static void print_layer(int tool_id)
{
    const char *name = "", *library = "";
    const char *binding = "";
    const QMPIX_Tool_info *info = NULL;
    QMPIX_Tool_get_binding(tool_id, &binding);
    QMPIX_Tool_get_name(tool_id, &name);
    QMPIX_Tool_get_library(tool_id, &library);
    QMPIX_Tool_get_info(tool_id, &info);
    printf("layer %d: %s%s%s\n", tool_id, name, info && info->version ? " " : "",
           info && info->version ? info->version : "");
    if (info && info->description)
        printf("  does        %s\n", info->description);
    printf("  library     %s\n", library);
    printf("  binding     %s\n", binding);
    if (info)
        print_options(tool_id, info);
    print_functions(tool_id);
}

int cli_check(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    int version, subversion, count;
    setenv("QMPI_CHECK", "1", 1); /* this is no run: tools that log calls keep silent */
    MPI_Get_version(&version, &subversion);
    QMPIX_Tool_count(&count);
    if (!count)
        printf("no layers: every MPI call goes straight to the MPI library\n");
    for (int tool_id = 1; tool_id <= count; tool_id++)
        print_layer(tool_id);
    fflush(stdout);
    _exit(0); /* the tools' exit handlers would report on a run that was none */
}
