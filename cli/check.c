/* SPDX-License-Identifier: MIT */
/* qmpi check builds the stack exactly as a run would, and shows it. Errors are therefore those of a
 * run, in the same words and with the same exit status. The stack is built in a process that `qmpi
 * run` starts, because libraries must be preloaded when a process starts. The first process waits
 * for it for a limited time. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/layers.h"
#include "cli/program.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "process/process.h"
#include "util/util.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <qmpi/qmpi.h>
#include <qmpi/service.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Names that two tools both define -------------------------------------------------------- */

/* Of 171 pairs of real tools, those that fail have at least 39 names in common (Recorder with
 * Darshan and with Pilgrim), and all others have at most 10. A message lists NAMED of the names. */
enum { HARMLESS = 20, NAMED = 3 };

struct search {
    const char *path;
    struct qmpi_elf_loaded object; /* Its name is NULL if it is not found. */
};

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!*info->dlpi_name || !qmpi_elf_file_same(info->dlpi_name, search->path) ||
        !qmpi_elf_loaded_read(info, &object))
        return 0;
    search->object = object;
    return 1;
}

struct comparison {
    const struct qmpi_elf_loaded *preloaded, *other;
    const char **names; /* the names that both define and to which `other` refers */
    int count;
};

static bool is_mpi_name(const char *name)
{
    const char *plain = name[0] == 'P' ? name + 1 : name;
    return qmpi_function_find(plain) >= 0 || qmpi_binding_is_procedure(name) ||
           qmpi_binding_pmpi_function(name) >= 0;
}

static void add_common_name(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct comparison *comparison = data;
    const char *name = relocation->name;
    for (int i = 0; i < comparison->count; i++) {
        if (!strcmp(comparison->names[i], name))
            return;
    }
    if (is_mpi_name(name) || !qmpi_elf_loaded_find(comparison->preloaded, name) ||
        !qmpi_elf_loaded_find(comparison->other, name))
        return;
    comparison->names =
        qmpi_memory_grow(comparison->names, comparison->count, sizeof *comparison->names);
    comparison->names[comparison->count++] = name;
}

static char *describe_names(const struct comparison *comparison)
{
    char *text = qmpi_format("%d global names (", comparison->count);
    for (int i = 0; i < NAMED; i++) {
        char *longer = qmpi_message("%-s%s, ", text, comparison->names[i]);
        free(text);
        text = longer;
    }
    char *whole = qmpi_format("%s…)", text);
    free(text);
    return whole;
}

/*
 * If two tools define the same global names, the dynamic loader resolves the references of both to
 * the definitions of the preloaded one, so that the other uses functions and variables that are not
 * its own. A few names in common are harmless, but tools that share much code under the same names
 * crash or hang. If the tools are likely to fail, returns a text such as `NUMBER global names
 * (FIRST, …)`, which the caller frees. Otherwise, returns NULL.
 */
static char *describe_shared_names(const char *preloaded, const char *other)
{
    struct search first = {.path = preloaded}, second = {.path = other};
    if (qmpi_elf_file_same(preloaded, other) || !qmpi_elf_walk(find_object, &first) ||
        !qmpi_elf_walk(find_object, &second))
        return NULL;
    struct comparison comparison = {&first.object, &second.object, NULL, 0};
    qmpi_elf_visit_relocations(&second.object, add_common_name, &comparison);
    char *text = comparison.count > HARMLESS ? describe_names(&comparison) : NULL;
    free(comparison.names);
    return text;
}

/* ---- Entries of the list of tools ------------------------------------------------------------ */

/* The current list of tools. Their layers are printed in the order of this list. */
struct entries {
    struct qmpi_stack stack;
    bool *has_layer; /* for each entry of stack.tools */
    int next;        /* the index of the entry after that of the last printed layer */
};

static void read_entries(struct entries *entries)
{
    *entries = (struct entries){.next = 0};
    qmpi_stack_read(&entries->stack);
    entries->has_layer =
        qmpi_allocate((size_t)entries->stack.tools.count, sizeof *entries->has_layer);
}

static void free_entries(struct entries *entries)
{
    qmpi_stack_free(&entries->stack);
    free(entries->has_layer);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

/* Describes the effect of a condition. The program that will run is unknown here, and the rank is
 * known only under a launcher. */
static const char *describe_effect(enum qmpi_tool_reserved option, const char *value)
{
    const struct qmpi_condition_place place = {.rank = qmpi_launcher_rank()};
    switch (qmpi_condition_holds(option, value, &place)) {
    case QMPI_HOLDS:
        return "holds here";
    case QMPI_HOLDS_NOT:
        return "does not hold here: the layer starts switched off";
    default:
        return option == QMPI_RESERVED_RANKS ? "on other ranks, the layer starts switched off"
                                             : "in other programs, the layer starts switched off";
    }
}

static void print_condition(void *data, enum qmpi_tool_reserved option, const char *value)
{
    (void)data;
    cli_print("  condition   %s=%s  (%s)\n", qmpi_tool_reserved_name(option), value,
              option == QMPI_RESERVED_FUNCTIONS ? "the layer intercepts no other functions, except "
                                                  "those that the tool needs in any case"
                                                : describe_effect(option, value));
}

/* Returns the next entry of the stack with this source. The entries that are skipped have no layer.
 * Returns NULL if there is none, as for a tool that is in LD_PRELOAD but not in the stack. */
static const struct qmpi_tool_entry *find_next_entry(struct entries *entries, const char *source)
{
    const struct qmpi_tool_list *list = &entries->stack.tools;
    for (int i = entries->next; i < list->count; i++) {
        char *other = qmpi_tool_entry_source(&list->entries[i]);
        const bool same = !strcmp(other, source);
        free(other);
        if (same) {
            entries->has_layer[i] = true;
            entries->next = i + 1;
            return &list->entries[i];
        }
    }
    return NULL;
}

static void print_entry_conditions(struct entries *entries, const char *source)
{
    const struct qmpi_tool_entry *entry = find_next_entry(entries, source);
    if (entry)
        qmpi_condition_each(entry, print_condition, NULL);
}

/* ---- Entries without a layer ----------------------------------------------------------------- */

static void print_left_out(const struct qmpi_tool_entry *entry, const char *reason)
{
    char *source = qmpi_tool_entry_source(entry);
    cli_print("left out %s: %s (%s)\n", reason, entry->text, source);
    free(source);
}

static void print_idle_pattern(void *data, const char *pattern)
{
    (void)data;
    char *shown = qmpi_message_shorten(pattern);
    cli_print("QMPI_DISABLE: no layer matches '%s'\n", shown);
    free(shown);
}

/* Prints the entries that have no layer. Their errors were skipped, because the check would have
 * ended otherwise. */
static void print_left_out_entries(const struct entries *entries)
{
    const struct qmpi_stack *stack = &entries->stack;
    for (int i = 0; i < stack->tools.count; i++) {
        const char *optional = stack->tools.entries[i].reserved[QMPI_RESERVED_OPTIONAL];
        if (!entries->has_layer[i])
            print_left_out(&stack->tools.entries[i],
                           optional && !strcmp(optional, "yes")
                               ? "because it cannot be used (@optional=yes)"
                               : "because it cannot be used");
    }
    for (int i = 0; i < stack->disabled.count; i++)
        print_left_out(&stack->disabled.entries[i], "by QMPI_DISABLE");
    qmpi_stack_each_idle_pattern(stack, print_idle_pattern, NULL);
}

/* ---- Layers ---------------------------------------------------------------------------------- */

enum { KEY_FUNCTION = CLI_KEY_FREE, KEY_MPI, KEY_TIMEOUT, KEY_IN_PROCESS, KEY_RUN };

struct check_request {
    const char **functions; /* functions whose chains are printed */
    int count;
    const char *mpi; /* the argument of --mpi, or NULL */
    bool has_timeout;
    bool in_process; /* build the stack in this process */
    bool run;        /* run a program and validate the tools */
    char **program;  /* the program and its arguments, or NULL */
};

static const struct argp_option options[] = {
    {"function", KEY_FUNCTION, "NAME", 0,
     "show the chain of this MPI function instead; may be repeated", 0},
    {"run", KEY_RUN, NULL, 0,
     "run the program, and check in each of its MPI calls that the tools keep the rules of QMPI",
     0},
    {"mpi", KEY_MPI, "mpich|openmpi|abi", 0,
     "check the stack for this MPI (default: the MPI of the launcher, else of this command)", 0},
    {"timeout", KEY_TIMEOUT, "TIME", 0, "time limit for loading the stack (default: 10s; 0: none)",
     0},
    {"in-process", KEY_IN_PROCESS, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char doc[] =
    "Check a stack of tools without running a program. Print each layer with its library, its "
    "options and the functions that it intercepts, or print the chain of one function from the "
    "application to the MPI library.\vErrors in the stack are reported as in a run. The exit "
    "status is then 2. With --run, the program runs under the stack, and the exit status is 1 if a "
    "tool breaks a rule.";

static const char *function_at(const void *data, int index)
{
    (void)data;
    return index < qmpi_name_count ? qmpi_names[index].name : NULL;
}

static int find_function_number(const char *name)
{
    int number = qmpi_function_find(name);
    if (number < 0) { /* A name such as `Send` is accepted, too. */
        char *longer = qmpi_format("MPI_%s", name);
        number = qmpi_function_find(longer);
        free(longer);
    }
    if (number < 0 || !qmpi_names[number].exists) {
        char *shown = qmpi_message_shorten(name), *longer = qmpi_format("MPI_%s", name);
        const char *similar = number < 0 ? qmpi_text_suggest(name, function_at, NULL) : NULL;
        if (number < 0 && !similar)
            similar = qmpi_text_suggest(longer, function_at, NULL);
        qmpi_printf(
            "--function %s: %s\n"
            "hint: %s%s%slist the functions with `qmpi functions`",
            shown, number < 0 ? "unknown MPI function" : QMPI_MPI " does not provide this function",
            similar ? "did you mean " : "", similar ? similar : "", similar ? "? Or " : "");
        exit(2);
    }
    return number;
}

static error_t parse_check_option(int key, char *argument, struct argp_state *state)
{
    struct check_request *request = state->input;
    switch (key) {
    case KEY_FUNCTION:
        request->functions[request->count++] = argument;
        return 0;
    case KEY_MPI:
        request->mpi = cli_build_check_mpi(state, argument);
        return 0;
    case KEY_TIMEOUT:
        cli_child_set_time_limit(argument, state);
        request->has_timeout = true;
        return 0;
    case KEY_RUN:
        request->run = true;
        return 0;
    case KEY_IN_PROCESS:
        request->in_process = true;
        return 0;
    case ARGP_KEY_ARG:
        if (!request->run)
            cli_misuse(state, "unexpected argument '%s': give the stack with -t", argument);
        request->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (request->run && (request->count || request->has_timeout))
            cli_misuse(state, "%s has no effect with --run: remove one of the two",
                       request->count ? "--function" : "--timeout");
        if (request->run && !request->program)
            cli_misuse(state, "missing program: qmpi check --run -- PROGRAM [ARGUMENT...]");
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

static void print_services(int tool_id)
{
    const char *name;
    int version;
    for (int i = 0; QMPIX_Service_get(tool_id, i, &name, &version) == MPI_SUCCESS; i++)
        cli_print("  offers      the service %s %d.%d\n", name, version >> 16, version & 0xffff);
}

/* Prints a line about a PMPI tool that wraps only one of the functions that initialize MPI. qmpi
 * doctor reads this line. */
static void print_start(int tool_id)
{
    static const enum QMPI_Functions_enum inits[] = {MPI_INIT_T, MPI_INIT_THREAD_T};
    const char *binding = "";
    int flags[2] = {0, 0};
    QMPIX_Tool_get_binding(tool_id, &binding);
    for (int i = 0; i < 2; i++)
        QMPIX_Tool_intercepts(tool_id, inits[i], &flags[i]);
    if (!strncmp(binding, "PMPI tool", 9) && flags[0] != flags[1])
        cli_print("  starts      in %s, but not in %s, which it does not wrap\n",
                  qmpi_names[inits[flags[1]]].name, qmpi_names[inits[flags[0]]].name);
}

/* Returns whether a layer has an observer and no interceptors. */
static bool is_observer(int tool_id)
{
    const char *binding = "";
    QMPIX_Tool_get_binding(tool_id, &binding);
    return !strcmp(binding, "QMPI tool, observer");
}

/* Prints the functions of a layer. qmpi doctor reads the first line. */
static void print_functions(int tool_id)
{
    const char *const verb = is_observer(tool_id) ? "observes" : "intercepts";
    int count = 0, existing = 0, flag;
    for (int number = 0; number < qmpi_name_count; number++) {
        existing += qmpi_names[number].exists;
        if (qmpi_names[number].exists &&
            QMPIX_Tool_intercepts(tool_id, (enum QMPI_Functions_enum)number, &flag) == MPI_SUCCESS)
            count += flag;
    }
    if (count == existing) {
        printf("  %-11s all %d functions\n", verb, count);
        return;
    }
    print_start(tool_id);
    printf("  %-11s %d of %d functions%s", verb, count, existing, count ? ":" : "");
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

/* ---- Preloaded libraries --------------------------------------------------------------------- */

static const char *library_of(int tool_id)
{
    const char *library = "";
    QMPIX_Tool_get_library(tool_id, &library);
    return library;
}

/* Prints why a layer is preloaded, if it is. Only the first layer of a library uses the preloaded
 * object. */
static void print_preloaded(int tool_id, const struct manifest *manifest)
{
    const char *library = library_of(tool_id);
    bool first = true;
    for (int i = 1; i < tool_id; i++)
        first &= strcmp(library_of(i), library) != 0;
    if (!first || !program_is_preloaded(library))
        return;
    char *reason = cli_preload_reason(library, manifest);
    cli_print("  preloaded   %s\n", reason ? reason : "required by LD_PRELOAD or @preload=yes");
    free(reason);
}

/* Prints the functions outside MPI that two tools both replace. If both are preloaded, the
 * functions of one call those of the other, and some pairs of tools then hang. */
static void print_shared(int one, int other)
{
    struct qmpi_elf_file first, second;
    if (!strcmp(library_of(one), library_of(other)) || qmpi_elf_file_open(library_of(one), &first))
        return;
    if (!qmpi_elf_file_open(library_of(other), &second)) {
        char *names = qmpi_loadable_interposed_by_both(&first.image, &second.image);
        if (names)
            cli_print("layers %d and %d both replace functions outside MPI: %s; if they conflict, "
                      "give one of them the option @preload=no\n",
                      one, other, names);
        free(names);
        qmpi_elf_file_close(&second);
    }
    qmpi_elf_file_close(&first);
}

/* Prints the global names that two tools both define if the tools are likely to fail because of
 * them. qmpi doctor recognizes the line by "both define and use". */
static void print_names(int one, int other)
{
    const char *first = library_of(one), *second = library_of(other);
    char *names = program_is_preloaded(first) ? describe_shared_names(first, second) : NULL;
    if (!names && program_is_preloaded(second))
        names = describe_shared_names(second, first);
    if (names)
        cli_print("layers %d and %d both define and use %s: one of them would use those of the "
                  "other, and crash or hang; give both the option @preload=no, or remove one\n",
                  one, other, names);
    free(names);
}

static void print_all_shared(int count)
{
    for (int one = 1; one <= count; one++) {
        for (int other = one + 1; other <= count; other++) {
            print_shared(one, other);
            print_names(one, other);
        }
    }
}

/* Prints the binding of a layer. The text of a PMPI layer may end with the libraries that it shares
 * with layers below. */
static void print_binding(const char *binding)
{
    static const char mark[] = "; shares ";
    const char *shares = strstr(binding, mark);
    const int length = shares ? (int)(shares - binding) : (int)strlen(binding);
    cli_print("  binding     %.*s\n", length, binding);
    if (shares)
        cli_print("  shares      %s\n", shares + sizeof mark - 1);
}

/* Prints those contents of a manifest that a tool does not register. */
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

/* Prints a layer. qmpi doctor reads most of the lines (report_layers in doctor/stack.c). */
static void print_layer(int tool_id, struct entries *entries)
{
    const char *name = "", *binding = "", *source = "";
    const QMPIX_Tool_info *info = NULL;
    QMPIX_Tool_get_binding(tool_id, &binding);
    QMPIX_Tool_get_name(tool_id, &name);
    QMPIX_Tool_get_info(tool_id, &info);
    QMPIX_Tool_get_source(tool_id, &source);
    struct manifest *manifest = layers_find_manifest(library_of(tool_id), NULL);
    cli_print("layer %d: %s%s%s\n", tool_id, name, info && info->version ? " " : "",
              info && info->version ? info->version : "");
    if (info ? info->description != NULL : manifest != NULL)
        cli_print("  does        %s\n", info ? info->description : manifest->description);
    cli_print("  listed in   %s\n", source);
    print_entry_conditions(entries, source);
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
                   flag ? binding
                   : is_observer(tool_id)
                       ? "does not observe this function: not called, no cost"
                       : "does not intercept this function: not called, no cost");
        free(layer);
    }
    PMPI_Get_library_version(version, &length);
    cli_shorten_version(version);
    printf("       ▼\n");
    char *base = qmpi_format("P%s", function);
    print_step("MPI library", base, version);
    free(base);
    if (passing == layers)
        printf("%s\n",
               "no layer intercepts or observes this function: a call costs one jump more than "
               "without qmpi");
}

static void print_layers(int count)
{
    struct entries entries;
    read_entries(&entries);
    if (!count)
        printf("no layers: every MPI call goes directly to the MPI library\n");
    for (int tool_id = 1; tool_id <= count; tool_id++)
        print_layer(tool_id, &entries);
    print_all_shared(count);
    print_left_out_entries(&entries);
    free_entries(&entries);
}

static _Noreturn void check_here(const struct check_request *request)
{
    int version, subversion, count;
    int *numbers = qmpi_allocate((size_t)request->count, sizeof *numbers);
    for (int i = 0; i < request->count; i++)
        numbers[i] = find_function_number(request->functions[i]);
    setenv("QMPI_CHECK", "1", 1); /* Tools that log calls write nothing during a check. */
    MPI_Get_version(&version, &subversion);
    QMPIX_Tool_count(&count);
    for (int i = 0; i < request->count; i++) {
        printf("%s", i ? "\n" : "");
        print_chain(numbers[i], count);
    }
    if (!request->count)
        print_layers(count);
    free(numbers);
    const bool written = cli_finish_output();
    /* Exit handlers of tools would print results, although nothing was run. */
    _exit(written ? 0 : 2);
}

/* ---- The process that waits ------------------------------------------------------------------ */

static void print_finding(const char *finding)
{
    qmpi_print(finding);
}

/* Returns the qmpi command of the build for `mpi`, or for the chosen MPI if `mpi` is NULL, because
 * the command and its libqmpi must belong to the same build. Stores the option --mpi for the
 * returned command. The caller frees both. */
static char *choose_command(const char *mpi, char **option)
{
    struct cli_build build = cli_build_choose(mpi, NULL);
    char *command = cli_build_find_command(build.mpi);
    if (!command && mpi) {
        qmpi_printf("--mpi=%s: no qmpi command for this MPI is installed next to this one\n"
                    "hint: build and install qmpi for this MPI: meson setup -Dmpi=%s",
                    mpi, mpi);
        exit(2);
    }
    *option = qmpi_format("--mpi=%s", command ? build.mpi : QMPI_MPI);
    free(build.library);
    free(build.tools_folder);
    return command ? command : cli_build_find_command(QMPI_MPI);
}

/* If SIGPIPE ended the child, and nobody reads the output of this process any more, ends this
 * process by SIGPIPE, too. */
static void end_if_unread(int status)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    if (status == -1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGPIPE ||
        poll(&output, 1, 0) != 1 || !(output.revents & POLLERR))
        return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

static int check_elsewhere(const struct check_request *request)
{
    enum { WORDS = 6 };
    char *option, *command = choose_command(request->mpi, &option);
    const char **words = qmpi_allocate(WORDS + 2 * (size_t)request->count + 1, sizeof *words);
    const char *const first[WORDS] = {command, "run", option, command, "check", "--in-process"};
    const char *const variables[] = {cli_stack_is_given() ? NULL : "QMPI_TOOLS", "", NULL};
    memcpy(words, first, sizeof first);
    for (int i = 0; i < request->count; i++) {
        words[WORDS + 2 * i] = "--function";
        words[WORDS + 2 * i + 1] = request->functions[i];
    }
    struct cli_child child = {.command = words, .variables = variables, .shown = true};
    cli_child_run_all(&child, 1);
    cli_child_free(&child);
    end_if_unread(child.status);
    const bool ended = child.status != -1 && WIFEXITED(child.status);
    if (!ended)
        cli_trial_blame(child.status, print_finding);
    free(words);
    free(command);
    free(option);
    return ended ? WEXITSTATUS(child.status) : 2;
}

/* Becomes `qmpi run --validate` with the same stack, which the environment contains. Returns the
 * exit status only if this fails. */
static int run_program(const struct check_request *request)
{
    char *command = cli_build_find_command(QMPI_MPI);
    char *option = request->mpi ? qmpi_format("--mpi=%s", request->mpi) : NULL;
    size_t count = 0, words = 0;
    while (request->program[count])
        count++;
    char **line = qmpi_allocate(count + 6, sizeof *line);
    char run[] = "run", validate[] = "--validate", end[] = "--";
    line[words++] = command;
    line[words++] = run;
    line[words++] = validate;
    if (option)
        line[words++] = option;
    line[words++] = end;
    memcpy(line + words, request->program, count * sizeof *line);
    cli_stack_resolve();
    execv(command, line);
    qmpi_printf("cannot run '%s': %s\n  hint: install qmpi again", command, strerror(errno));
    free(line);
    free(option);
    free(command);
    return 2;
}

int cli_check(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_stack_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options, parse_check_option, "[--run -- PROGRAM [ARGUMENT...]]", doc, children, NULL, NULL};
    struct check_request request = {.functions =
                                        qmpi_allocate((size_t)argc, sizeof *request.functions)};
    cli_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request);
    if (request.in_process)
        check_here(&request);
    const int status = request.run ? run_program(&request) : check_elsewhere(&request);
    free(request.functions);
    return status;
}
