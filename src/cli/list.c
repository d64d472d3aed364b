/* SPDX-License-Identifier: MIT */
/*
 * qmpi list: lists the tools in the directories of QMPI_TOOL_PATH and in the installed directory.
 * Each library is inspected first, and then loaded in a separate process, so that a tool that fails
 * does not affect the others.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/doctor/doctor.h"
#include "config/config.h"
#include "generate/build.h"
#include "loader/loader.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <argp.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_TOOL_PATH = 256, KEY_TIMEOUT, KEY_REGISTERED };

static const char doc[] =
    "List installed tools: path, purpose and options.\vThe command searches the directories in "
    "QMPI_TOOL_PATH, then the directories of the installed tools.";

/* Called in a separate process: loads a QMPI tool and prints the tools that it registers. */
static void print_registered(const char *path)
{
    int count = 0;
    qmpi_load_abi_name(cli_tools_folder(), path);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        cli_print("%s\n  cannot be loaded: %s\n", path, dlerror());
        return;
    }
    QMPIX_Announced_count(&count);
    for (int i = 0; i < count; i++) {
        const char *name;
        const QMPIX_Tool_info *info;
        if (QMPIX_Announced_get(i, &name, &info) != MPI_SUCCESS)
            continue;
        printf("%-12s %s\n", name, info && info->description ? info->description : "");
        cli_print("             %s\n", path);
        for (const QMPIX_Tool_option *option = info ? info->options : NULL; option && option->name;
             option++)
            printf("%-12s   %s%s%s  %s\n", "", option->name, option->default_value ? "=" : "",
                   option->default_value ? option->default_value : "",
                   option->help ? option->help : "");
    }
    if (!count)
        cli_print("%s\n  registers no tool\n", path);
}

static void print_native(const char *path)
{
    static char *self;
    if (!self)
        self = cli_command_path(QMPI_MPI);
    const char *const command[] = {self, "list", "--announced", path, NULL};
    const char *const variables[] = {NULL};
    struct doctor_child child = doctor_child_run(command, variables);
    if (trial_is_good(&child))
        printf("%s", child.output);
    else if (child.status == -1)
        cli_print("%s\n  hangs when it is loaded\n", path);
    else
        cli_print("%s\n  fails when it is loaded\n", path);
    doctor_child_free(&child);
}

static void print_library(const char *path)
{
    enum qmpi_kind kind;
    char *problem = qmpi_kind_read(path, NULL, &kind);
    if (problem) {
        problem[strcspn(problem, "\n")] = '\0';
        cli_print("%s\n  not usable: %s\n", path, problem);
        free(problem);
    } else if (kind == QMPI_KIND_PMPI) {
        cli_print("%s\n  a PMPI tool\n", path);
    } else {
        print_native(path);
    }
}

static int is_library(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 3 && !strcmp(entry->d_name + length - 3, ".so");
}

static void print_folder(const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_library, alphasort);
    if (count < 0) {
        cli_print("%s\n  cannot be read: %s\n", folder, strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        char *path = qmpi_format("%s/%s", folder, entries[i]->d_name);
        print_library(path);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

static const struct argp_option options[] = {
    {"tool-path", KEY_TOOL_PATH, "DIRS", 0,
     "directories to search for tools first (sets QMPI_TOOL_PATH)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "time limit for loading each tool (default: 10; 0: none)", 0},
    {"announced", KEY_REGISTERED, "PATH", OPTION_HIDDEN, NULL, 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_TOOL_PATH:
        cli_set_variable("QMPI_TOOL_PATH", argument);
        return 0;
    case KEY_TIMEOUT:
        doctor_set_patience(argument, state);
        return 0;
    case KEY_REGISTERED:
        print_registered(argument);
        fflush(stdout);
        _exit(0);
    case ARGP_KEY_ARG:
        cli_misuse(state,
                   "unexpected argument '%s': this command lists all tools; use `qmpi check -t %s` "
                   "for one",
                   argument, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* In the build directory, both names lead to one directory. */
static bool is_same(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static void print_stack(void *data, const char *name, const char *path, int line)
{
    (void)data;
    cli_print("%-20s stack, %s, line %d\n", name, path, line);
}

int cli_list(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
    cli_parse(&argp, argc, argv, 0, NULL, NULL);
    char *path = qmpi_tool_path();
    for (const char *list = path; *list;) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length)
            print_folder(folder);
        free(folder);
        list += length + (list[length] == ':');
    }
    free(path);
    print_folder(cli_tools_folder());
    char *abi_folder = qmpi_abi_folder(cli_tools_folder());
    if (abi_folder && access(abi_folder, F_OK) == 0 && !is_same(abi_folder, cli_tools_folder()))
        print_folder(abi_folder);
    free(abi_folder);
    qmpi_stack_each_name(print_stack, NULL);
    return 0;
}
