/* SPDX-License-Identifier: MIT */
/* What the subcommands that look at a stack share, the options -t and -c above all: see cli.h. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "config/config.h"
#include "util/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_tidy(char *version)
{
    version[strcspn(version, "\n")] = '\0';
    while (strchr(version, '\t'))
        *strchr(version, '\t') = ' ';
}

void cli_set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        qmpi_printf("cannot set %s: %s", name, strerror(errno));
        exit(2);
    }
}

/* Linux passes no longer one on to a program. */
static void check_length(const char *value, const char *option, const char *hint)
{
    const long most = 32 * sysconf(_SC_PAGESIZE) - (long)sizeof "QMPI_TOOLS_OPTION=";
    if ((long)strlen(value) <= most)
        return;
    qmpi_printf("%s: %zu characters, but the system passes at most %ld on to a program\n"
                "hint: %s",
                option, strlen(value), most, hint);
    exit(2);
}

static void append(const char *variable, const char *text, bool first)
{
    const char *before = first ? NULL : getenv(variable);
    char *both = before && *before ? qmpi_format("%s:%s", before, text) : qmpi_copy(text);
    if (!strcmp(variable, "QMPI_TOOLS"))
        check_length(both, "-t", "list the tools in a file, and give it with -c");
    else if (!strcmp(variable, "QMPI_CONFIG"))
        check_length(both, "-c", "give fewer files, or shorter paths");
    else
        check_length(both, "--tool-path", "give fewer directories, or shorter paths");
    cli_set_variable(variable, both);
    free(both);
}

/* Several -t are one list. Messages name the option (see config/stack.c). */
static void use_stack(const char *stack)
{
    static bool given;
    append("QMPI_TOOLS", stack, !given);
    cli_set_variable("QMPI_TOOLS_OPTION", getenv("QMPI_TOOLS"));
    given = true;
}

static void use_tool_path(const char *directories)
{
    static bool given;
    append("QMPI_TOOL_PATH", directories, !given);
    given = true;
}

/* QMPI_CONFIG is a list, in which colons separate the files. */
static char *escape(const char *path)
{
    char *escaped = qmpi_allocate(2 * strlen(path) + 1, 1), *to = escaped;
    for (; *path; path++) {
        if (*path == ':' || *path == '\\')
            *to++ = '\\';
        *to++ = *path;
    }
    return escaped;
}

static void use_config(const char *file)
{
    static bool given;
    /* Not realpath: paths in the file are relative to where it is named, links or not. */
    char *folder = *file == '/' ? NULL : getcwd(NULL, 0);
    char *path = folder ? qmpi_format("%s/%s", folder, file) : qmpi_copy(file);
    if (access(path, R_OK) != 0) {
        char *shown = qmpi_shorten(file);
        qmpi_printf("-c %s: %s\nhint: name a configuration file that you can read", shown,
                    strerror(errno));
        exit(2);
    }
    char *escaped = escape(path);
    append("QMPI_CONFIG", escaped, !given);
    free(escaped);
    free(path);
    free(folder);
    given = true;
}

error_t cli_parse_stack(int key, char *argument)
{
    switch (key) {
    case 't':
        use_stack(argument);
        return 0;
    case 'c':
        use_config(argument);
        return 0;
    case CLI_KEY_TOOL_PATH:
        use_tool_path(argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool cli_stack_is_given(void)
{
    struct qmpi_tool_stack stack;
    qmpi_stack_read(&stack);
    const bool given =
        stack.variable || stack.layers.count || stack.disabled.count || qmpi_getenv("QMPI_CONFIG");
    qmpi_stack_free(&stack);
    return given;
}
