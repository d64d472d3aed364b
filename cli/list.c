/* SPDX-License-Identifier: MIT */
/* qmpi list lists the tools in the directories of QMPI_TOOL_PATH and in the directories of the
 * installed tools, and the named stacks of configuration files. It reads the files of the libraries
 * and manifests and runs no code of a tool. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/layers.h"
#include "config/config.h"
#include "loader/loader.h"
#include "util/util.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char doc[] =
    "List installed tools: path, purpose and options.\vThe command searches the directories in "
    "QMPI_TOOL_PATH, then the directories of the installed tools.";

static const char indent[] = "             "; /* wide enough for the names of most tools */

static void print_manifest_options(const struct manifest_options *options, const char *prefix)
{
    for (int i = 0; i < options->count; i++) {
        const struct manifest_option *option = &options->items[i];
        cli_print(
            "%s  %s%s%s%s  %s\n", indent, prefix, option->name, option->default_value ? "=" : "",
            option->default_value ? option->default_value : "", option->help ? option->help : "");
    }
}

/* Prints the name by which a stack lists the tool. If its manifest has another name for the tool,
 * this is a part of the description. */
static void print_described(const char *path, const struct manifest *manifest)
{
    char *name = manifest_tool_name(path);
    const size_t width = strlen(name), room = sizeof indent - 1;
    const bool has_other = strcmp(name, manifest->name) != 0;
    cli_print("%s%s%s%s%s\n%s%s\n", name, width < room ? indent + width : " ",
              has_other ? manifest->name : "", has_other ? ": " : "", manifest->description, indent,
              path);
    free(name);
    print_manifest_options(&manifest->options, "");
    print_manifest_options(&manifest->environment, "env.");
}

static void print_undescribed(const char *path, enum qmpi_library_kind kind, const char *problem)
{
    char *entry = cli_escape(path, ":,=\\"), *word = cli_quote(entry);
    if (problem)
        cli_print("%s\n  invalid manifest: %.*s\n", path, (int)strcspn(problem, "\n"), problem);
    else if (kind == QMPI_KIND_PMPI)
        cli_print("%s\n  a PMPI tool\n", path);
    else
        cli_print("%s\n  a QMPI tool without a manifest; `qmpi check -t %s` shows its options\n",
                  path, word);
    free(word);
    free(entry);
}

static void print_library(const char *path)
{
    enum qmpi_library_kind kind;
    char *problem = qmpi_library_inspect(path, NULL, &kind);
    if (problem) {
        problem[strcspn(problem, "\n")] = '\0';
        cli_print("%s\n  not usable: %s\n", path, problem);
    } else {
        struct manifest *manifest = layers_find_manifest(path, &problem);
        if (manifest)
            print_described(path, manifest);
        else
            print_undescribed(path, kind, problem);
        manifest_free(manifest);
    }
    free(problem);
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

static error_t parse_list_argument(int key, char *argument, struct argp_state *state)
{
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    char *word = cli_quote(argument);
    cli_misuse(state,
               "unexpected argument '%s': this command lists all tools; use `qmpi check -t %s` "
               "for one",
               argument, word);
    free(word);
    return 0;
}

/* Returns whether two paths lead to the same directory. In a build directory, both directories of
 * installed tools are the same one. */
static bool is_same_folder(const char *one, const char *other)
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
    static const struct argp_child children[] = {{&cli_tool_path_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .parser = parse_list_argument, .doc = doc, .children = children};
    cli_parse(&argp, argc, argv, 0, NULL, NULL);
    char *path = qmpi_settings_tool_path();
    const char *list = path;
    for (char *folder; (folder = cli_next_part(&list, ":"));) {
        print_folder(folder);
        free(folder);
    }
    free(path);
    print_folder(cli_tools_folder());
    char *abi_folder = qmpi_library_abi_folder(cli_tools_folder());
    if (abi_folder && access(abi_folder, F_OK) == 0 &&
        !is_same_folder(abi_folder, cli_tools_folder()))
        print_folder(abi_folder);
    free(abi_folder);
    qmpi_stack_each_name(print_stack, NULL);
    return 0;
}
