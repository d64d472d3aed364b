/* SPDX-License-Identifier: MIT */
/*
 * See doctor.h: the stack, tried as a run would build it, by `qmpi run -- qmpi check` in another
 * process. With QMPI_ON_ERROR=skip that tells of every tool that cannot be used. Where it does not
 * get that far, each tool is tried alone: one of them crashes or hangs.
 */
#define _GNU_SOURCE
#include "doctor.h"

#include "cli.h"
#include "config_file.h"
#include "find.h"
#include "message.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Whether a library is listed ----------------------------------------------------------------
 */

/* A PMPI tool's name: its file's, without `lib` and `.so…`. */
static bool is_name_of(const char *name, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    if (!strcmp(file, name))
        return true;
    file += strncmp(file, "lib", 3) ? 0 : 3;
    const char *end = strstr(file, ".so");
    return end && strlen(name) == (size_t)(end - file) && !strncmp(name, file, strlen(name));
}

static bool is_same_file(const char *name, const char *path)
{
    char *problem = NULL;
    char *found = qmpi_find_library(name, cli_tools_folder(), "", &problem);
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
    struct qmpi_tool_list tools;
    const char *source;
    bool listed = false;
    qmpi_stack_read(&tools, &source);
    for (int i = 0; i < tools.count && !listed; i++) {
        const char *name = tools.entries[i].name;
        listed = name && (is_name_of(name, path) || is_same_file(name, path));
    }
    qmpi_tool_list_free(&tools);
    return listed;
}

/* ---- Trying -------------------------------------------------------------------------------------
 */

static struct doctor_child try_stack(const char *stack)
{
    char *self = realpath("/proc/self/exe", NULL);
    if (!stack && !cli_stack_is_given())
        stack = "";
    const char *const command[] = {self, "run", "--", self, "check", NULL};
    /* A list without a topic: traces would look like messages. */
    const char *const variables[] = {
        "QMPI_ON_ERROR", "skip", "QMPI_DEBUG", ",", stack ? "QMPI_TOOLS" : NULL, stack, NULL};
    struct doctor_child child = doctor_child_run(command, variables);
    free(self);
    return child;
}

static bool is_done(const struct doctor_child *child)
{
    return child->status != -1 && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}

/* By libqmpi itself, which says why. */
static bool is_stopped(const struct doctor_child *child)
{
    return child->status != -1 && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 2;
}

/* One finding for each of our messages: the lines that follow its first one are indented. What is
 * wrong with the environment and with the file has been said. Returns how many there were. */
static int print_messages(const char *text)
{
    static const char prefix[] = "qmpi: ";
    char *message = NULL;
    bool skipped = false;
    int count = 0;
    for (;;) {
        const size_t length = strcspn(text, "\n");
        const bool ours = !strncmp(text, prefix, sizeof prefix - 1);
        const char *line = ours ? text + sizeof prefix - 1 : text;
        const bool first = ours && *line != ' ' && strncmp(line, "mend: ", 6) != 0;
        if ((first || !*text) && message) {
            if (!skipped)
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
            skipped = doctor_has_said(message);
        } else if (ours && message && strncmp(line, "the run goes on", 15) != 0) {
            char *longer = qmpi_format("%s\n%.*s", message, rest, line);
            free(message);
            message = longer;
        }
        text += length + (text[length] == '\n');
    }
}

/* From the listing of qmpi check: each layer's first line, its library, binding and functions. */
static void print_layers(const char *text)
{
    char layer[256] = "", library[4096] = "", binding[256] = "";
    int count = 0, functions;
    for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n')) {
        if (sscanf(text, "layer %255[^\n]", layer) == 1 ||
            sscanf(text, "  library %4095[^\n]", library) == 1 ||
            sscanf(text, "  binding %255[^\n]", binding) == 1 ||
            strncmp(text, "  intercepts ", 13) != 0)
            continue;
        count++;
        if (sscanf(text, "  intercepts %d", &functions) == 1 && !functions)
            doctor_note("layer %s: intercepts no function; %s", layer,
                        library + strspn(library, " "));
        else
            doctor_ok("layer %s: %s; %s", layer, library + strspn(library, " "),
                      binding + strspn(binding, " "));
    }
    if (!count)
        doctor_note("no layers: every MPI call goes straight to the MPI library");
}

/* ---- One tool alone -----------------------------------------------------------------------------
 */

static void escape(FILE *to, const char *plain)
{
    for (; *plain; plain++) {
        if (strchr(":,=\\", *plain))
            fputc('\\', to);
        fputc(*plain, to);
    }
}

/* An entry as QMPI_TOOLS has it. */
static char *write_entry(const struct qmpi_entry *entry)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        exit(2);
    escape(to, entry->name);
    for (int i = 0; i < entry->option_count; i++) {
        fputc(',', to);
        escape(to, entry->options[i].key);
        fputc('=', to);
        escape(to, entry->options[i].value);
    }
    fclose(to);
    return text;
}

static char *how_it_ended(int status)
{
    if (status == -1)
        return qmpi_copy("does not come to an end when it is loaded");
    if (WIFSIGNALED(status))
        return qmpi_format("crashes when it is loaded: %s", strsignal(WTERMSIG(status)));
    return qmpi_format("ends the process when it is loaded, with exit status %d",
                       WEXITSTATUS(status));
}

static bool look_at_entry(const struct qmpi_entry *entry, const char *source)
{
    if (!entry->name)
        return false;
    char *text = write_entry(entry);
    struct doctor_child child = try_stack(text);
    const bool done = is_done(&child);
    if (!done) {
        char *shown = qmpi_shorten(entry->text), *end = how_it_ended(child.status);
        doctor_wrong("%s, %s %d '%s': it %s\nmend: leave it out; its makers should know", source,
                     entry->line ? "line" : "entry", entry->line ? entry->line : entry->position,
                     shown, end);
        free(shown);
        free(end);
    }
    doctor_child_free(&child);
    free(text);
    return !done;
}

static void look_at_each(int status)
{
    struct qmpi_tool_list tools;
    const char *source;
    bool found = false;
    qmpi_stack_read(&tools, &source);
    for (int i = 0; i < tools.count; i++)
        found |= look_at_entry(&tools.entries[i], source);
    if (!found) {
        char *end = how_it_ended(status);
        doctor_wrong("the stack %s, though each of its tools alone does not\n"
                     "mend: leave out tools until it works; QMPI_DEBUG=all shows how far it comes",
                     end);
        free(end);
    }
    qmpi_tool_list_free(&tools);
}

void doctor_look_at_stack(void)
{
    struct doctor_child child = try_stack(NULL);
    if (is_done(&child))
        print_layers(child.output);
    const int messages = print_messages(child.errors);
    if (!is_done(&child) && !(messages && is_stopped(&child)))
        look_at_each(child.status);
    doctor_child_free(&child);
}
