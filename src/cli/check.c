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

enum { KEY_FUNCTION = 256, KEY_TOOL_PATH };

/* The functions whose chains are asked for. */
struct wish {
    int *numbers;
    int count;
};

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0, "the stack to check (default: QMPI_TOOLS)", 0},
    {"config", 'c', "FILE", 0, "a file with a stack and settings (default: QMPI_CONFIG)", 0},
    {"tool-path", KEY_TOOL_PATH, "FOLDERS", 0,
     "folders in which tools are sought first (default: QMPI_TOOL_PATH)", 0},
    {"function", KEY_FUNCTION, "NAME", 0,
     "draw the chain of this MPI function instead; may be given several times", 0},
    {0},
};

static const char doc[] = "Show what a stack of tools would do, without an MPI run: every layer, "
                          "its library, its options and the functions that it intercepts; or the "
                          "chain of one function, from the application to the MPI library.\vWhat "
                          "is wrong with the stack is said as "
                          "a run would say it; the exit "
                          "status is then 2.";

static void add_function(struct wish *wish, const char *name)
{
    int number = qmpi_name_find(name);
    if (number < 0) { /* `Send` will do */
        char *longer = qmpi_format("MPI_%s", name);
        number = qmpi_name_find(longer);
        free(longer);
    }
    if (number < 0 || !qmpi_names[number].exists) {
        char *shown = qmpi_shorten(name);
        qmpi_sayf("--function %s: %s\nmend: `qmpi functions` lists those that there are", shown,
                  number < 0 ? "no MPI function" : "a function that " QMPI_MPI " does not have");
        exit(2);
    }
    wish->numbers[wish->count++] = number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 't':
        cli_use_stack(argument);
        return 0;
    case 'c':
        cli_use_config(argument);
        return 0;
    case KEY_TOOL_PATH:
        cli_set_variable("QMPI_TOOL_PATH", argument);
        return 0;
    case KEY_FUNCTION:
        add_function(state->input, argument);
        return 0;
    case ARGP_KEY_ARG:
        cli_misuse(state, "'%s' is not expected: give the stack with -t", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_options(int tool_id, const QMPIX_Tool_info *info)
{
    for (const QMPIX_Tool_option *option = info->options; option && option->name; option++) {
        const char *value;
        cli_print("  option      %s", option->name);
        if (QMPIX_Tool_get_option(tool_id, option->name, &value) == MPI_SUCCESS)
            cli_print("=%s", value);
        cli_print("  (%s)\n", option->help ? option->help : "");
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
    cli_print("layer %d: %s%s%s\n", tool_id, name, info && info->version ? " " : "",
              info && info->version ? info->version : "");
    if (info && info->description)
        cli_print("  does        %s\n", info->description);
    cli_print("  library     %s\n", library);
    cli_print("  binding     %s\n", binding);
    if (info)
        print_options(tool_id, info);
    print_functions(tool_id);
}

/* ---- One function's chain -----------------------------------------------------------------------
 */

static void print_step(const char *who, const char *name, const char *what)
{
    printf("  %-11s  %-16s %s\n", who, name, what);
}

static void print_chain(int number, int layers)
{
    const char *function = qmpi_names[number].name;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, passing = 0;
    printf("%s (number %d)\n", function, number);
    printf("  application  calls %s\n", function);
    for (int tool_id = 1; tool_id <= layers; tool_id++) {
        const char *name = "", *binding = "";
        int flag = 0;
        QMPIX_Tool_get_name(tool_id, &name);
        QMPIX_Tool_get_binding(tool_id, &binding);
        QMPIX_Tool_intercepts(tool_id, (enum QMPI_Functions_enum)number, &flag);
        passing += !flag;
        char *layer = qmpi_format("%slayer %d%s", flag ? "" : "(", tool_id, flag ? "" : ")");
        printf("       %s\n", flag ? "▼" : "│");
        print_step(layer, name,
                   flag ? binding : "does not intercept it: not called, costs nothing");
        free(layer);
    }
    PMPI_Get_library_version(version, &length);
    cli_tidy(version);
    printf("       ▼\n");
    char *base = qmpi_format("P%s", function);
    print_step("MPI library", base, version);
    free(base);
    if (passing == layers)
        printf("%s\n", "no layer intercepts it: a call costs one jump more than without qmpi");
}

int cli_check(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
    struct wish wish = {qmpi_allocate((size_t)argc, sizeof *wish.numbers), 0};
    argp_parse(&argp, argc, argv, 0, NULL, &wish);
    cli_note_stack();
    int version, subversion, count;
    setenv("QMPI_CHECK", "1", 1); /* this is no run: tools that log calls keep silent */
    MPI_Get_version(&version, &subversion);
    QMPIX_Tool_count(&count);
    for (int i = 0; i < wish.count; i++) {
        printf("%s", i ? "\n" : "");
        print_chain(wish.numbers[i], count);
    }
    if (!count && !wish.count)
        printf("no layers: every MPI call goes straight to the MPI library\n");
    for (int tool_id = 1; tool_id <= count && !wish.count; tool_id++)
        print_layer(tool_id);
    free(wish.numbers);
    fflush(stdout);
    _exit(0); /* the tools' exit handlers would report on a run that was none */
}
