/* SPDX-License-Identifier: MIT */
/* See doctor.h. With QMPI_ON_ERROR=skip, the process that builds the stack reports every tool that
 * cannot be used. If it crashes or hangs, trial.c finds the tool that causes this. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "cli/manifest/manifest.h"
#include "config/config.h"
#include "loader/loader.h"
#include "util/util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Listed libraries ------------------------------------------------------------------------ */

/* Returns whether `name` is the name of the tool at `path`. A tool has the name of its file, with
 * or without `lib` and `.so…`. */
static bool is_name_of(const char *name, const char *path)
{
    char *tool = manifest_tool_name(path);
    const bool is_name = !strcmp(tool, name) || !strcmp(qmpi_text_base_name(path), name);
    free(tool);
    return is_name;
}

static bool is_same_file(const struct qmpi_tool_entry *entry, const char *path)
{
    char *problem = NULL;
    char *found = qmpi_library_find(entry, cli_tools_folder(), "", &problem);
    char *one = found ? realpath(found, NULL) : NULL, *other = realpath(path, NULL);
    const bool same = one && other && !strcmp(one, other);
    free(one);
    free(other);
    free(found);
    free(problem);
    return same;
}

bool doctor_is_listed(const char *path)
{
    struct qmpi_stack stack;
    bool listed = false;
    qmpi_stack_read(&stack);
    for (int i = 0; i < stack.tools.count && !listed; i++) {
        const struct qmpi_tool_entry *entry = &stack.tools.entries[i];
        listed = entry->name && (is_name_of(entry->name, path) || is_same_file(entry, path));
    }
    qmpi_stack_free(&stack);
    return listed;
}

/* ---- Results of a trial ---------------------------------------------------------------------- */

/* Returns whether libqmpi itself ended the process, after a message. */
static bool was_stopped(const struct cli_child *child)
{
    return child->status != -1 && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 2;
}

/* Prints a finding for each message of libqmpi, whose further lines are indented. Leaves out
 * problems of the environment and of configuration files, which were printed already. Returns the
 * number of messages. */
static int report_messages(const char *text)
{
    static const char prefix[] = "qmpi: ";
    char *message = NULL;
    bool skipped = false;
    int count = 0;
    for (;;) {
        const size_t length = strcspn(text, "\n");
        const bool ours = !strncmp(text, prefix, sizeof prefix - 1);
        const char *line = ours ? text + sizeof prefix - 1 : text;
        const bool first = ours && *line != ' ' && strncmp(line, "hint: ", 6) != 0;
        if ((first || !*text) && message) {
            /* These are warnings, after which a run continues: only one layer of a tool can be
             * preloaded, or the stack contradicts a manifest. */
            if (strstr(message, " also replaces ") || strstr(message, " (manifest: "))
                doctor_note("%-s", message);
            else if (!skipped)
                doctor_wrong("%-s", message);
            free(message);
            message = NULL;
            count++;
        }
        if (!*text)
            return count;
        line += ours ? strspn(line, " ") : 0;
        const int rest = (int)(length - (size_t)(line - text));
        if (first) {
            message = qmpi_copy_part(line, (size_t)rest);
            skipped = doctor_has_reported(message);
        } else if (ours && message && strncmp(line, "the run continues", 17) != 0) {
            char *longer = qmpi_format("%s\n%.*s", message, rest, line);
            free(message);
            message = longer;
        }
        text += length + (text[length] == '\n');
    }
}

/* A layer that starts in only one of the functions that initialize MPI. */
static struct start {
    char *layer;
    char missed[32]; /* the other function */
} * starts;
static int start_count;

/* Stores and reports such a layer, which a line of qmpi check describes as `in MPI_Init, but not in
 * MPI_Init_thread, …`. */
static void add_start(const char *layer, const char *text)
{
    struct start start = {.layer = NULL};
    if (sscanf(text, " in %*[^,], but not in %31[^,]", start.missed) != 1)
        return;
    start.layer = qmpi_copy(layer);
    starts = qmpi_memory_grow(starts, start_count, sizeof *starts);
    starts[start_count++] = start;
    doctor_note("layer %s: starts %s: its results are wrong or missing if %s is called by the "
                "program or by a tool above",
                layer, text, start.missed);
}

void doctor_check_start(const char *function)
{
    for (int i = 0; i < start_count; i++) {
        if (!strcmp(starts[i].missed, function))
            doctor_wrong("layer %s does not start in this program, which calls %s: the tool does "
                         "not wrap this function\n"
                         "hint: use a version of the tool that wraps it, or remove the layer",
                         starts[i].layer, function);
    }
}

/* Prints a finding for each layer that qmpi check has listed. */
static void report_layers(const char *text)
{
    char layer[256] = "", library[4096] = "", binding[4096] = "", preloaded[256] = "";
    char shares[4096] = "", start[256] = "";
    int count = 0, functions;
    for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n')) {
        const size_t length = strcspn(text, "\n");
        const char *define = memmem(text, length, " both define and use ", 21);
        if (!strncmp(text, "layers ", 7) && define) {
            const int first = (int)strcspn(text, ";");
            doctor_wrong("%.*s\nhint:%.*s", first, text, (int)length - first - 1, text + first + 1);
            continue;
        }
        if (!strncmp(text, "layers ", 7) ||
            (!strncmp(text, "left out ", 9) && memmem(text, length, "(@optional=yes)", 15)))
            doctor_note("%.*s", (int)length, text);
        if (sscanf(text, "layer %255[^\n]", layer) == 1) {
            *preloaded = *shares = *start = '\0';
            continue;
        }
        if (sscanf(text, "  library %4095[^\n]", library) == 1 ||
            sscanf(text, "  binding %4095[^\n]", binding) == 1 ||
            sscanf(text, "  preloaded %255[^\n]", preloaded) == 1 ||
            sscanf(text, "  shares %4095[^\n]", shares) == 1 ||
            sscanf(text, "  starts     %255[^\n]", start) == 1 ||
            (strncmp(text, "  intercepts ", 13) != 0 && strncmp(text, "  observes ", 11) != 0))
            continue;
        count++;
        if (sscanf(text, "  %*s %d", &functions) == 1 && !functions)
            doctor_note("layer %s: intercepts no functions; %s", layer,
                        library + strspn(library, " "));
        else
            doctor_ok("layer %s: %s; %s%s%s", layer, library + strspn(library, " "),
                      binding + strspn(binding, " "),
                      *preloaded ? "; `qmpi run` preloads it: " : "",
                      preloaded + strspn(preloaded, " "));
        if (*start)
            add_start(layer, start + strspn(start, " "));
        if (*shares)
            doctor_note("layer %s: shares %s; the layers share the state of such a library", layer,
                        shares + strspn(shares, " "));
    }
    if (!count)
        doctor_note("no layers: every MPI call goes directly to the MPI library");
}

static void report_blame(const char *finding)
{
    doctor_wrong("%-s", finding);
}

void doctor_look_at_stack(void)
{
    struct cli_child child = cli_trial_run(NULL);
    if (cli_trial_is_good(&child))
        report_layers(child.output);
    const int messages = report_messages(child.errors);
    if (!cli_trial_is_good(&child) && !(messages && was_stopped(&child)))
        cli_trial_blame(child.status, report_blame);
    cli_child_free(&child);
}
