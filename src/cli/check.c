/* SPDX-License-Identifier: MIT */
/*
 * qmpi check: builds the stack exactly as a run would, and shows it. Errors are therefore those of
 * a run, in the same words and with the same exit status. That is done in a process that `qmpi run`
 * starts, for what is preloaded must be there from its beginning; the first process waits for it,
 * for a limited time.
 */
#define _GNU_SOURCE
#include "cli/check_entries.h"
#include "cli/cli.h"
#include "cli/doctor/doctor.h"
#include "cli/manifests/manifests.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "util/util.h"

#include <qmpi/qmpi.h>
#include <qmpi/service.h>

#include <argp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_FUNCTION = CLI_KEY_FREE, KEY_MPI, KEY_TIMEOUT, KEY_IN_PROCESS };

struct wish {
    const char **functions; /* whose chains are asked for */
    int count;
    const char *mpi; /* NULL: the launcher's, else the command's own */
    bool in_process; /* this is the process in which the stack is built */
};

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0, "stack to check (default: QMPI_TOOLS)", 0},
    {"config", 'c', "FILE", 0,
     "configuration file with layers and settings; may be repeated (default: QMPI_CONFIG)", 0},
    {"tool-path", CLI_KEY_TOOL_PATH, "DIRS", 0,
     "directories to search for tools first, separated by colons; may be repeated (default: "
     "QMPI_TOOL_PATH)",
     0},
    {"function", KEY_FUNCTION, "NAME", 0,
     "show the chain of this MPI function instead; may be repeated", 0},
    {"mpi", KEY_MPI, "mpich|openmpi|abi", 0,
     "check the stack for this MPI (default: the MPI of the launcher, else of this command)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "time limit for loading the stack (default: 10; 0: none)", 0},
    {"in-process", KEY_IN_PROCESS, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char doc[] =
    "Check a stack of tools without running a program. Print each layer with its library, its "
    "options and the functions that it intercepts, or print the chain of one function from the "
    "application to the MPI library.\vErrors in the stack are reported as in a run. The exit "
    "status is then 2.";

static const char *function_at(const void *data, int index)
{
    (void)data;
    return index < qmpi_name_count ? qmpi_names[index].name : NULL;
}

static int find_function(const char *name)
{
    int number = qmpi_name_find(name);
    if (number < 0) { /* `Send` will do */
        char *longer = qmpi_format("MPI_%s", name);
        number = qmpi_name_find(longer);
        free(longer);
    }
    if (number < 0 || !qmpi_names[number].exists) {
        char *shown = qmpi_shorten(name), *longer = qmpi_format("MPI_%s", name);
        const char *similar = number < 0 ? qmpi_suggest(name, function_at, NULL) : NULL;
        if (number < 0 && !similar)
            similar = qmpi_suggest(longer, function_at, NULL);
        qmpi_printf(
            "--function %s: %s\n"
            "hint: %s%s%slist the functions with `qmpi functions`",
            shown, number < 0 ? "unknown MPI function" : QMPI_MPI " does not provide this function",
            similar ? "did you mean " : "", similar ? similar : "", similar ? "? Or " : "");
        exit(2);
    }
    return number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct wish *wish = state->input;
    switch (key) {
    case KEY_FUNCTION:
        wish->functions[wish->count++] = argument;
        return 0;
    case KEY_MPI:
        wish->mpi = cli_check_mpi(state, argument);
        return 0;
    case KEY_TIMEOUT:
        doctor_set_patience(argument, state);
        return 0;
    case KEY_IN_PROCESS:
        wish->in_process = true;
        return 0;
    case ARGP_KEY_ARG:
        cli_misuse(state, "unexpected argument '%s': give the stack with -t", argument);
        return 0;
    default:
        return cli_parse_stack(key, argument);
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

static void print_services(int tool_id)
{
    const char *name;
    int version;
    for (int i = 0; QMPIX_Service_get(tool_id, i, &name, &version) == MPI_SUCCESS; i++)
        cli_print("  offers      the service %s %d.%d\n", name, version >> 16, version & 0xffff);
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

/* ---- What is preloaded, and what that leads to ----------------------------------------------- */

static const char *library_of(int tool_id)
{
    const char *library = "";
    QMPIX_Tool_get_library(tool_id, &library);
    return library;
}

/* The first layer of a library that is preloaded is what is preloaded. */
static void print_preloaded(int tool_id, const struct manifest *manifest)
{
    const char *library = library_of(tool_id);
    bool first = true;
    for (int i = 1; i < tool_id; i++)
        first &= strcmp(library_of(i), library) != 0;
    if (!first || !doctor_is_preloaded(library))
        return;
    char *reason = cli_preload_reason(library, manifest);
    cli_print("  preloaded   %s\n", reason ? reason : "required by LD_PRELOAD or @preload=yes");
    free(reason);
}

/* If both are preloaded, they call each other's functions; some pairs of tools then hang. */
static void print_shared(int one, int other)
{
    struct qmpi_elf_file first, second;
    if (!strcmp(library_of(one), library_of(other)) || qmpi_elf_file_open(library_of(one), &first))
        return;
    if (!qmpi_elf_file_open(library_of(other), &second)) {
        char *names = qmpi_replaces_both(&first.image, &second.image);
        if (names)
            cli_print("layers %d and %d both replace functions outside MPI: %s; if they conflict, "
                      "give one of them the option @preload=no\n",
                      one, other, names);
        free(names);
        qmpi_elf_file_close(&second);
    }
    qmpi_elf_file_close(&first);
}

static void print_all_shared(int count)
{
    for (int one = 1; one <= count; one++) {
        for (int other = one + 1; other <= count; other++)
            print_shared(one, other);
    }
}

/* The text of a PMPI layer ends with the libraries that it shares with layers below, if any. */
static void print_binding(const char *binding)
{
    static const char mark[] = "; shares ";
    const char *shares = strstr(binding, mark);
    const int length = shares ? (int)(shares - binding) : (int)strlen(binding);
    cli_print("  binding     %.*s\n", length, binding);
    if (shares)
        cli_print("  shares      %s\n", shares + sizeof mark - 1);
}

/* What the tool itself has not registered. */
static void print_manifest(const struct manifest *manifest)
{
    static const char *const places[] = {
        [MANIFEST_APPLICATION] = "the application", [MANIFEST_MPI] = "MPI"};
    const struct manifest_options *variables = &manifest->environment;
    if (manifest->place != MANIFEST_ANYWHERE)
        cli_print("  place       near %s%s%s\n", places[manifest->place],
                  manifest->place_reason ? ": " : "",
                  manifest->place_reason ? manifest->place_reason : "");
    for (int i = 0; i < variables->count; i++)
        cli_print("  variable    env.%s%s%s  (%s)\n", variables->items[i].name,
                  variables->items[i].default_value ? "=" : "",
                  variables->items[i].default_value ? variables->items[i].default_value : "",
                  variables->items[i].help ? variables->items[i].help : "");
    for (int i = 0; i < manifest->notes.count; i++)
        cli_print("  note        %s\n", manifest->notes.items[i]);
    cli_print("  manifest    %s\n", manifest->path);
}

static void print_layer(int tool_id, struct check_entries *entries)
{
    const char *name = "", *binding = "", *source = "";
    const QMPIX_Tool_info *info = NULL;
    QMPIX_Tool_get_binding(tool_id, &binding);
    QMPIX_Tool_get_name(tool_id, &name);
    QMPIX_Tool_get_info(tool_id, &info);
    QMPIX_Tool_get_source(tool_id, &source);
    struct manifest *manifest = manifest_of(library_of(tool_id), NULL);
    cli_print("layer %d: %s%s%s\n", tool_id, name, info && info->version ? " " : "",
              info && info->version ? info->version : "");
    if (info ? info->description != NULL : manifest != NULL)
        cli_print("  does        %s\n", info ? info->description : manifest->description);
    cli_print("  listed in   %s\n", source);
    check_entries_print_layer(entries, source);
    cli_print("  library     %s\n", library_of(tool_id));
    print_binding(binding);
    print_preloaded(tool_id, manifest);
    if (info)
        print_options(tool_id, info);
    print_services(tool_id);
    if (manifest)
        print_manifest(manifest);
    print_functions(tool_id);
    manifest_free(manifest);
}

/* ---- One function's chain -------------------------------------------------------------------- */

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
                   flag ? binding : "does not intercept this function: not called, no cost");
        free(layer);
    }
    PMPI_Get_library_version(version, &length);
    cli_tidy(version);
    printf("       ▼\n");
    char *base = qmpi_format("P%s", function);
    print_step("MPI library", base, version);
    free(base);
    if (passing == layers)
        printf("%s\n",
               "no layer intercepts this function: a call costs one jump more than without qmpi");
}

static void print_layers(int count)
{
    struct check_entries entries;
    check_entries_read(&entries);
    if (!count)
        printf("no layers: every MPI call goes directly to the MPI library\n");
    for (int tool_id = 1; tool_id <= count; tool_id++)
        print_layer(tool_id, &entries);
    print_all_shared(count);
    check_entries_print_left_out(&entries);
    check_entries_free(&entries);
}

static _Noreturn void check_here(const struct wish *wish)
{
    int version, subversion, count;
    int *numbers = qmpi_allocate((size_t)wish->count, sizeof *numbers);
    for (int i = 0; i < wish->count; i++)
        numbers[i] = find_function(wish->functions[i]);
    setenv("QMPI_CHECK", "1", 1); /* tools that log calls write nothing during a check */
    MPI_Get_version(&version, &subversion);
    QMPIX_Tool_count(&count);
    for (int i = 0; i < wish->count; i++) {
        printf("%s", i ? "\n" : "");
        print_chain(numbers[i], count);
    }
    if (!wish->count)
        print_layers(count);
    free(numbers);
    fflush(stdout);
    _exit(0); /* exit handlers of tools would report, although nothing was run */
}

/* ---- The process that waits ------------------------------------------------------------------ */

static void say(const char *finding)
{
    qmpi_print(finding);
}

/* The command for the MPI that is chosen: it must be what its libqmpi was built with. */
static char *choose_command(const char *mpi, char **option)
{
    struct cli_build build = cli_choose_build(mpi, NULL);
    char *command = cli_command_path(build.mpi);
    if (!command && mpi) {
        qmpi_printf("--mpi=%s: no qmpi command for this MPI is installed next to this one\n"
                    "hint: build and install qmpi for this MPI: meson setup -Dmpi=%s",
                    mpi, mpi);
        exit(2);
    }
    *option = qmpi_format("--mpi=%s", command ? build.mpi : QMPI_MPI);
    free(build.library);
    free(build.tools_folder);
    return command ? command : cli_command_path(QMPI_MPI);
}

/* Ends this process as the child was ended if nobody reads the output any more. */
static void end_if_unread(int status)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    if (status == -1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGPIPE ||
        poll(&output, 1, 0) != 1 || !(output.revents & POLLERR))
        return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

static int check_elsewhere(const struct wish *wish)
{
    enum { WORDS = 6 };
    char *option, *command = choose_command(wish->mpi, &option);
    const char **words = qmpi_allocate(WORDS + 2 * (size_t)wish->count + 1, sizeof *words);
    const char *const first[WORDS] = {command, "run", option, command, "check", "--in-process"};
    const char *const variables[] = {cli_stack_is_given() ? NULL : "QMPI_TOOLS", "", NULL};
    memcpy(words, first, sizeof first);
    for (int i = 0; i < wish->count; i++) {
        words[WORDS + 2 * i] = "--function";
        words[WORDS + 2 * i + 1] = wish->functions[i];
    }
    struct doctor_child child = {.command = words, .variables = variables, .shown = true};
    doctor_children_run(&child, 1);
    doctor_child_free(&child);
    end_if_unread(child.status);
    const bool ended = child.status != -1 && WIFEXITED(child.status);
    if (!ended)
        trial_blame(child.status, say);
    free(words);
    free(command);
    free(option);
    return ended ? WEXITSTATUS(child.status) : 2;
}

int cli_check(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
    struct wish wish = {.functions = qmpi_allocate((size_t)argc, sizeof *wish.functions)};
    cli_parse(&argp, argc, argv, 0, NULL, &wish);
    if (wish.in_process)
        check_here(&wish);
    const int status = check_elsewhere(&wish);
    free(wish.functions);
    return status;
}
