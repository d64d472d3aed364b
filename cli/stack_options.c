/* SPDX-License-Identifier: MIT */
/* See cli.h. The options -t, -c and --tool-path set the variables of the stack. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "config/config.h"
#include "util/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Terminates the command if a value is longer than any string that Linux passes to a program. */
static void check_length(const char *value, const char *option, const char *hint)
{
    const long most = 32 * sysconf(_SC_PAGESIZE) - (long)sizeof "QMPI_CONFIG_OPTION=";
    if ((long)strlen(value) <= most)
        return;
    qmpi_printf("%s: %zu bytes, but the system passes at most %ld on to a program\n"
                "hint: %s",
                option, strlen(value), most, hint);
    exit(2);
}

static void append_to_variable(const char *variable, const char *text, bool first)
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

/* QMPI_TOOLS_OPTION makes messages name the option (config/stack.c). */
void cli_stack_add(const char *stack)
{
    static bool given;
    append_to_variable("QMPI_TOOLS", stack, !given);
    cli_set_variable("QMPI_TOOLS_OPTION", getenv("QMPI_TOOLS"));
    given = true;
}

static bool tool_path_is_given;

const char *cli_tool_path_origin(void)
{
    return tool_path_is_given ? "--tool-path" : "QMPI_TOOL_PATH";
}

static void use_tool_path(const char *directories)
{
    append_to_variable("QMPI_TOOL_PATH", directories, !tool_path_is_given);
    tool_path_is_given = true;
}

/* ---- Relative paths -------------------------------------------------------------------------- */

static void add_part(char **text, const char *part, size_t length)
{
    char *longer = qmpi_format("%s%.*s", *text, (int)length, part);
    free(*text);
    *text = longer;
}

/* Returns the length of the part of `text` that precedes the first of the characters `ends` that is
 * not escaped with a backslash. `text` has the format of QMPI_TOOLS. */
static size_t length_to(const char *text, const char *ends)
{
    size_t length = 0;
    while (text[length] && !strchr(ends, text[length]))
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length;
}

/* Adds the directory to which a path is relative. Returns the length of a `./` at the beginning of
 * the path, which the caller skips. */
static size_t add_folder(char **text, const char *folder, const char *path)
{
    add_part(text, folder, strlen(folder));
    add_part(text, "/", 1);
    return !strncmp(path, "./", 2) && path[2] != '/' ? 2 : 0;
}

/* Returns a copy of a stack in which all paths are absolute. The caller frees the copy. `folder` is
 * the working directory. */
static char *resolve_stack(const char *stack, const char *folder)
{
    char *escaped = cli_escape(folder, ":,=\\"), *resolved = qmpi_copy("");
    while (*stack) {
        const size_t name = length_to(stack, ":,"), entry = length_to(stack, ":");
        const size_t whole = entry + (stack[entry] == ':');
        const size_t start =
            *stack != '/' && memchr(stack, '/', name) ? add_folder(&resolved, escaped, stack) : 0;
        add_part(&resolved, stack + start, whole - start);
        stack += whole;
    }
    free(escaped);
    return resolved;
}

static char *resolve_tool_path(const char *list, const char *folder)
{
    char *resolved = qmpi_copy("");
    while (*list) {
        const size_t length = strcspn(list, ":"), whole = length + (list[length] == ':');
        const size_t start = length && *list != '/' ? add_folder(&resolved, folder, list) : 0;
        add_part(&resolved, list + start, whole - start);
        list += whole;
    }
    return resolved;
}

void cli_stack_resolve(void)
{
    const char *stack = getenv("QMPI_TOOLS"), *option = getenv("QMPI_TOOLS_OPTION");
    char *folder = getcwd(NULL, 0);
    if (folder && stack && option && !strcmp(stack, option)) {
        char *resolved = resolve_stack(stack, folder);
        check_length(resolved, "-t", "list the tools in a file, and give it with -c");
        cli_set_variable("QMPI_TOOLS", resolved);
        cli_set_variable("QMPI_TOOLS_OPTION", resolved);
        free(resolved);
    }
    if (folder && tool_path_is_given) {
        char *resolved = resolve_tool_path(getenv("QMPI_TOOL_PATH"), folder);
        check_length(resolved, "--tool-path", "give fewer directories, or shorter paths");
        cli_set_variable("QMPI_TOOL_PATH", resolved);
        free(resolved);
    }
    free(folder);
}

/* ---- The options ----------------------------------------------------------------------------- */

/* QMPI_CONFIG_OPTION makes messages name the option (config/settings.c). */
static void use_config(const char *file)
{
    static bool given;
    /* Symbolic links are not resolved, because paths in the file are relative to the directory of
     * the link. */
    char *folder = *file == '/' ? NULL : getcwd(NULL, 0);
    char *path = folder ? qmpi_format("%s/%s", folder, file) : qmpi_copy(file);
    if (access(*file ? path : file, R_OK) != 0) {
        char *shown = qmpi_message_shorten(file);
        qmpi_printf("-c %-s: %s\nhint: name a configuration file that you can read", shown,
                    strerror(errno));
        exit(2);
    }
    char *escaped = cli_escape(path, ":\\");
    append_to_variable("QMPI_CONFIG", escaped, !given);
    cli_set_variable("QMPI_CONFIG_OPTION", getenv("QMPI_CONFIG"));
    free(escaped);
    free(path);
    free(folder);
    given = true;
}

enum { KEY_TOOL_PATH = CLI_KEY_FREE - 1 };

static error_t parse_tool_path(int key, char *argument, struct argp_state *state)
{
    (void)state;
    if (key != KEY_TOOL_PATH)
        return ARGP_ERR_UNKNOWN;
    use_tool_path(argument);
    return 0;
}

static error_t parse_stack(int key, char *argument, struct argp_state *state)
{
    (void)state;
    if (key == 't')
        cli_stack_add(argument);
    else if (key == 'c')
        use_config(argument);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp_option tool_path_options[] = {
    {"tool-path", KEY_TOOL_PATH, "DIRS", 0,
     "directories to search for tools first, separated by colons; may be repeated (default: "
     "QMPI_TOOL_PATH)",
     0},
    {0},
};
const struct argp cli_tool_path_argp = {.options = tool_path_options, .parser = parse_tool_path};

static const struct argp_option stack_options[] = {
    {"tools", 't', "STACK", 0,
     "stack of tools, from the application to the MPI library: NAME[,KEY=VALUE...][:NAME...] ; may "
     "be repeated (default: QMPI_TOOLS)",
     0},
    {"config", 'c', "FILE", 0,
     "configuration file with layers and settings; may be repeated (default: QMPI_CONFIG)", 0},
    {0},
};
static const struct argp_child stack_children[] = {{&cli_tool_path_argp, 0, NULL, 0}, {0}};
const struct argp cli_stack_argp = {
    .options = stack_options, .parser = parse_stack, .children = stack_children};

/* ---- Presence of a stack --------------------------------------------------------------------- */

bool cli_stack_is_given(void)
{
    struct qmpi_stack stack;
    qmpi_stack_read(&stack);
    const bool given =
        stack.variable || stack.tools.count || stack.disabled.count || qmpi_getenv("QMPI_CONFIG");
    qmpi_stack_free(&stack);
    return given;
}
