/* SPDX-License-Identifier: MIT */
/*
 * See cli/doctor/doctor.h: stacks, built as a run would build them, by `qmpi run -- qmpi check` in
 * processes of their own. Where a stack crashes or hangs, its tools are tried alone, and then the
 * stack without each of them: which of them it is shows in what goes well.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

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

/* A list without a topic: traces would look like messages. */
enum { VARIABLES = 9 };
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
        self = cli_command_path(QMPI_MPI);
    return self;
}

/* The same MPI as the command's, whatever launcher is above it. */
static const char *const *try_command(void)
{
    static const char *command[8];
    const char *const all[] = {command_path(), "run",   "--mpi=" QMPI_MPI, "--",
                               command_path(), "check", "--in-process",    NULL};
    memcpy(command, all, sizeof all);
    return command;
}

struct doctor_child trial_run(const char *stack)
{
    const char *variables[VARIABLES];
    if (!stack && !cli_stack_is_given())
        stack = "";
    set_variables(variables, stack);
    return doctor_child_run(try_command(), variables);
}

bool trial_is_good(const struct doctor_child *child)
{
    return child->status != -1 && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}

/* ---- Stacks as QMPI_TOOLS has them ----------------------------------------------------------- */

static void escape(FILE *to, const char *plain)
{
    for (; *plain; plain++) {
        if (strchr(":,=\\", *plain))
            fputc('\\', to);
        fputc(*plain, to);
    }
}

static void write_entry(FILE *to, const struct qmpi_entry *entry)
{
    escape(to, entry->name);
    for (int i = 0; i < entry->option_count; i++) {
        fputc(',', to);
        escape(to, entry->options[i].key);
        fputc('=', to);
        escape(to, entry->options[i].value);
    }
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++) {
        /* The first is for the site alone, and conditions load no less of a tool. */
        if (entry->reserved[i] && i != QMPI_RESERVED_REQUIRED &&
            !qmpi_reserved_option_is_condition((enum qmpi_reserved_option)i)) {
            fprintf(to, ",%s=", qmpi_reserved_option_name((enum qmpi_reserved_option)i));
            escape(to, entry->reserved[i]);
        }
    }
    fputc(':', to);
}

/* One entry alone, or all the others. To be freed. */
static char *write_stack(const struct qmpi_tool_list *tools, int index, bool without)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        qmpi_out_of_memory();
    for (int i = 0; i < tools->count; i++) {
        if (tools->entries[i].name && (i == index) != without)
            write_entry(to, &tools->entries[i]);
    }
    fclose(to);
    return text;
}

/* ---- Trying many ----------------------------------------------------------------------------- */

struct trial {
    const char *variables[VARIABLES];
    char *stack;
};

/* All entries, each alone or the stack without it: how each ended. Those that are wrong anyway are
 * taken as good. To be freed. */
static int *try_each(const struct qmpi_tool_list *tools, bool without)
{
    struct doctor_child *children = qmpi_allocate((size_t)tools->count, sizeof *children);
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
    doctor_children_run(children, count);
    for (int i = 0, next = 0; i < tools->count; i++) {
        if (!tools->entries[i].name)
            continue;
        ended[i] = children[next].status;
        doctor_child_free(&children[next]);
        free(trials[next++].stack);
    }
    free(trials);
    free(children);
    return ended;
}

static bool is_good(int ended)
{
    return trial_is_good(&(struct doctor_child){.status = ended});
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

/* ---- Who it is ------------------------------------------------------------------------------- */

static char *name_entry(const struct qmpi_entry *entry)
{
    char *shown = qmpi_shorten(entry->text);
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

/* Returns the entries of which the stack works without any one; NULL: none. The caller frees it. */
static char *name_partners(const struct qmpi_tool_list *tools)
{
    int *ended = tools->count == 2 ? NULL : try_each(tools, true); /* of two, each alone was good */
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

void trial_blame(int ended, void (*say)(const char *finding))
{
    struct qmpi_tool_stack stack;
    qmpi_stack_read(&stack);
    const char *source = stack.source;
    if (!blame_single(&stack.layers, say)) {
        char *end = how_it_ended(ended), *names = name_partners(&stack.layers);
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
