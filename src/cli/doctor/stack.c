/* SPDX-License-Identifier: MIT */
/*
 * See doctor.h: what trying the stack in another process says of its layers. With
 * QMPI_ON_ERROR=skip that tells of every tool that cannot be used; where it does not get that far,
 * trial.c finds out whose fault it is.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "config/config.h"
#include "loader/loader.h"
#include "util/util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Whether a library is listed ------------------------------------------------------------- */

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

static bool is_same_file(const struct qmpi_entry *entry, const char *path)
{
    char *problem = NULL;
    char *found = qmpi_find_library(entry, cli_tools_folder(), "", &problem);
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
    struct qmpi_tool_stack stack;
    bool listed = false;
    qmpi_stack_read(&stack);
    for (int i = 0; i < stack.layers.count && !listed; i++) {
        const struct qmpi_entry *entry = &stack.layers.entries[i];
        listed = entry->name && (is_name_of(entry->name, path) || is_same_file(entry, path));
    }
    qmpi_stack_free(&stack);
    return listed;
}

/* ---- What trying it says --------------------------------------------------------------------- */

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
        const bool first = ours && *line != ' ' && strncmp(line, "hint: ", 6) != 0;
        if ((first || !*text) && message) {
            if (strstr(message, " also replaces ") || /* this cannot be fixed for all layers */
                strstr(message, " (manifest: "))      /* the run goes on */
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
            skipped = doctor_has_said(message);
        } else if (ours && message && strncmp(line, "the run continues", 17) != 0) {
            char *longer = qmpi_format("%s\n%.*s", message, rest, line);
            free(message);
            message = longer;
        }
        text += length + (text[length] == '\n');
    }
}

/* From the listing of qmpi check: each layer's first line, its library, its binding, what it shares
 * with others, and its functions. */
static void print_layers(const char *text)
{
    char layer[256] = "", library[4096] = "", binding[4096] = "", preloaded[256] = "";
    char shares[4096] = "";
    int count = 0, functions;
    for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n')) {
        const size_t length = strcspn(text, "\n");
        if (!strncmp(text, "layers ", 7) ||
            (!strncmp(text, "left out ", 9) && memmem(text, length, "(@optional=yes)", 15)))
            doctor_note("%.*s", (int)length, text);
        if (sscanf(text, "layer %255[^\n]", layer) == 1) {
            *preloaded = *shares = '\0';
            continue;
        }
        if (sscanf(text, "  library %4095[^\n]", library) == 1 ||
            sscanf(text, "  binding %4095[^\n]", binding) == 1 ||
            sscanf(text, "  preloaded %255[^\n]", preloaded) == 1 ||
            sscanf(text, "  shares %4095[^\n]", shares) == 1 ||
            strncmp(text, "  intercepts ", 13) != 0)
            continue;
        count++;
        if (sscanf(text, "  intercepts %d", &functions) == 1 && !functions)
            doctor_note("layer %s: intercepts no functions; %s", layer,
                        library + strspn(library, " "));
        else
            doctor_ok("layer %s: %s; %s%s%s", layer, library + strspn(library, " "),
                      binding + strspn(binding, " "),
                      *preloaded ? "; `qmpi run` preloads it: " : "",
                      preloaded + strspn(preloaded, " "));
        if (*shares)
            doctor_note("layer %s: shares %s; the layers share the state of such a library", layer,
                        shares + strspn(shares, " "));
    }
    if (!count)
        doctor_note("no layers: every MPI call goes directly to the MPI library");
}

static void say_wrong(const char *finding)
{
    doctor_wrong("%-s", finding);
}

void doctor_look_at_stack(void)
{
    struct doctor_child child = trial_run(NULL);
    if (trial_is_good(&child))
        print_layers(child.output);
    const int messages = print_messages(child.errors);
    if (!trial_is_good(&child) && !(messages && is_stopped(&child)))
        trial_blame(child.status, say_wrong);
    doctor_child_free(&child);
}
