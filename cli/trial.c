/* SPDX-License-Identifier: MIT */
/* See cli.h. A trial builds a stack as a run would, by `qmpi run -- qmpi check` in another process.
 * If a stack crashes, hangs or ends the process, each of its tools is tried alone. If each of them
 * works alone, the stack is tried without each tool in turn. The results show which tools cause the
 * failure. */
#define _GNU_SOURCE

#include "cli/cli.h"
#include "config/config.h"
#include "generate/build.h"
#include "util/util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VARIABLES = 9 };

/* Stores the names and values of the variables for a trial of `stack`, or of the current stack if
 * `stack` is NULL. QMPI_DEBUG is a list without topics, because qmpi doctor would take debugging
 * messages for problems. */
static void set_variables(const char **variables, const char *stack)
{
    const char *const all[VARIABLES] = {"QMPI_ON_ERROR",
                                        "skip",
                                        "QMPI_DEBUG",
                                        ",",
                                        "QMPI_TRIAL",
                                        stack ? "alone" : "all",
                                        stack ? "QMPI_TOOLS" : NULL,
                                        stack,
                                        NULL};
    memcpy(variables, all, sizeof all);
}

static const char *command_path(void)
{
    static char *self;
    if (!self)
        self = cli_build_find_command(QMPI_MPI);
    return self;
}

/* Returns the command of a trial. Its MPI is that of this command, even if a launcher of another
 * MPI has started this process. */
static const char *const *try_command(void)
{
    static const char *command[8];
    const char *const all[] = {command_path(), "run",   "--mpi=" QMPI_MPI, "--",
                               command_path(), "check", "--in-process",    NULL};
    memcpy(command, all, sizeof all);
    return command;
}

struct cli_child cli_trial_run(const char *stack)
{
    const char *variables[VARIABLES];
    if (!stack && !cli_stack_is_given())
        stack = "";
    set_variables(variables, stack);
    return cli_child_run(try_command(), variables);
}

bool cli_trial_is_good(const struct cli_child *child)
{
    return child->status != -1 && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}

/* ---- Writing stacks for QMPI_TOOLS ----------------------------------------------------------- */

static void write_escaped(FILE *to, const char *plain)
{
    char *escaped = cli_escape(plain, ":,=\\");
    fputs(escaped, to);
    free(escaped);
}

static void write_entry(FILE *to, const struct qmpi_tool_entry *entry)
{
    write_escaped(to, entry->name);
    for (int i = 0; i < entry->option_count; i++) {
        fputc(',', to);
        write_escaped(to, entry->options[i].key);
        fputc('=', to);
        write_escaped(to, entry->options[i].value);
    }
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++) {
        /* @required is left out, because only files of the site may contain it. Conditions are left
         * out, too: a tool is loaded even if its conditions do not hold, so they do not change the
         * result of a trial. */
        if (entry->reserved[i] && i != QMPI_RESERVED_REQUIRED &&
            !qmpi_tool_reserved_is_condition((enum qmpi_tool_reserved)i)) {
            fprintf(to, ",%s=", qmpi_tool_reserved_name((enum qmpi_tool_reserved)i));
            write_escaped(to, entry->reserved[i]);
        }
    }
    fputc(':', to);
}

/* Returns a stack of one entry or, if `without` is true, of all others. The caller frees it. */
static char *write_stack(const struct qmpi_tool_list *tools, int index, bool without)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        qmpi_memory_exhausted();
    for (int i = 0; i < tools->count; i++) {
        if (tools->entries[i].name && (i == index) != without)
            write_entry(to, &tools->entries[i]);
    }
    fclose(to);
    return text;
}

/* ---- Many trials ----------------------------------------------------------------------------- */

struct trial {
    const char *variables[VARIABLES];
    char *stack;
};

/* Tries each entry alone or, if `without` is true, the stack without it. Returns an array that
 * contains the status of each trial. The caller frees the array. Invalid entries have the status of
 * success. */
static int *try_each(const struct qmpi_tool_list *tools, bool without)
{
    struct cli_child *children = qmpi_allocate((size_t)tools->count, sizeof *children);
    struct trial *trials = qmpi_allocate((size_t)tools->count, sizeof *trials);
    int *ended = qmpi_allocate((size_t)tools->count, sizeof *ended), count = 0;
    for (int i = 0; i < tools->count; i++) {
        if (!tools->entries[i].name)
            continue;
        struct trial *trial = &trials[count];
        trial->stack = write_stack(tools, i, without);
        set_variables(trial->variables, trial->stack);
        children[count].command = try_command();
        children[count++].variables = trial->variables;
    }
    cli_child_run_all(children, count);
    for (int i = 0, next = 0; i < tools->count; i++) {
        if (!tools->entries[i].name)
            continue;
        ended[i] = children[next].status;
        cli_child_free(&children[next]);
        free(trials[next++].stack);
    }
    free(trials);
    free(children);
    return ended;
}

static bool is_good(int ended)
{
    return cli_trial_is_good(&(struct cli_child){.status = ended});
}

static char *how_it_ended(int status)
{
    if (status == -1)
        return qmpi_copy("hangs when it is loaded");
    if (WIFSIGNALED(status))
        return qmpi_message("crashes when it is loaded: %s", strsignal(WTERMSIG(status)));
    return qmpi_message("ends the process when it is loaded, with exit status %d",
                        WEXITSTATUS(status));
}

/* ---- The tools that cause a failure ---------------------------------------------------------- */

static char *name_entry(const struct qmpi_tool_entry *entry)
{
    char *shown = qmpi_message_shorten(entry->text);
    char *name = qmpi_message("%s %d '%s'", entry->line ? "line" : "entry",
                              entry->line ? entry->line : entry->position, shown);
    free(shown);
    return name;
}

static bool blame_single(const struct qmpi_tool_list *tools, void (*say)(const char *finding))
{
    int *ended = try_each(tools, false);
    bool found = false;
    for (int i = 0; i < tools->count; i++) {
        if (is_good(ended[i]))
            continue;
        char *name = name_entry(&tools->entries[i]), *end = how_it_ended(ended[i]);
        char *finding =
            qmpi_message("%s, %s: it %s\n"
                         "hint: remove it from the stack, and report the fault to its developers",
                         tools->entries[i].source, name, end);
        say(finding);
        free(finding);
        free(end);
        free(name);
        found = true;
    }
    free(ended);
    return found;
}

/* Returns a list of the entries without which the stack works, or NULL if there is none. The caller
 * frees the list. */
static char *name_partners(const struct qmpi_tool_list *tools)
{
    /* A stack of two tools works without either of them, because the other one works alone. */
    int *ended = tools->count == 2 ? NULL : try_each(tools, true);
    char *names = NULL;
    for (int i = 0; i < tools->count; i++) {
        if (!tools->entries[i].name || (ended && !is_good(ended[i])))
            continue;
        char *name = name_entry(&tools->entries[i]);
        char *longer =
            qmpi_message("%s%swithout %s", names ? names : "", names ? ", or " : "", name);
        free(name);
        free(names);
        names = longer;
    }
    free(ended);
    return names;
}

void cli_trial_blame(int ended, void (*say)(const char *finding))
{
    struct qmpi_stack stack;
    qmpi_stack_read(&stack);
    const char *source = stack.source;
    if (!blame_single(&stack.tools, say)) {
        char *end = how_it_ended(ended), *names = name_partners(&stack.tools);
        char *finding =
            names
                ? qmpi_message(
                      "%s: the stack %s, although each of its tools can be loaded alone; it can be "
                      "loaded %s\n"
                      "hint: remove one of these tools, or give one of them the option @preload=no",
                      source, end, names)
                : qmpi_message(
                      "%s: the stack %s, although each of its tools can be loaded alone\n"
                      "hint: remove tools until it works; QMPI_DEBUG=all shows how far it gets",
                      source, end);
        say(finding);
        free(finding);
        free(names);
        free(end);
    }
    qmpi_stack_free(&stack);
}
