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

static bool stack_given, config_given;

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

static void use_stack(const char *stack)
{
    cli_set_variable("QMPI_TOOLS", stack);
    stack_given = true;
}

static void use_config(const char *file)
{
    /* Not realpath: paths in the file are relative to where it is named, links or not. */
    char *folder = *file == '/' ? NULL : getcwd(NULL, 0);
    char *path = folder ? qmpi_format("%s/%s", folder, file) : qmpi_copy(file);
    if (access(path, R_OK) != 0) {
        char *shown = qmpi_shorten(file);
        qmpi_printf("-c %s: %s\nhint: name a configuration file that you can read", shown,
                    strerror(errno));
        exit(2);
    }
    cli_set_variable("QMPI_CONFIG", path);
    free(path);
    free(folder);
    config_given = true;
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
        cli_set_variable("QMPI_TOOL_PATH", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool cli_stack_is_given(void)
{
    struct qmpi_tool_list tools;
    const char *source;
    qmpi_stack_read(&tools, &source);
    qmpi_tool_list_free(&tools);
    return getenv(source) || qmpi_config_path();
}

void cli_note_stack(void)
{
    struct qmpi_tool_list tools;
    const char *source;
    qmpi_stack_read(&tools, &source);
    if (config_given && !stack_given && qmpi_config_get()->tools.count &&
        source != qmpi_config_path())
        qmpi_printf("%s is set: its tools are used instead of those in %s\n"
                    "hint: unset %s",
                    source, qmpi_config_path(), source);
    qmpi_tool_list_free(&tools);
}
