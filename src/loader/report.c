/* SPDX-License-Identifier: MIT */
/* See report.h. */
#define _GNU_SOURCE
#include "loader/report.h"

#include "config/config.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *middle = "QMPI_TOOLS";

void qmpi_problem_name_middle(const char *source)
{
    middle = source;
}

void qmpi_problem_start(void)
{
    const char *value = qmpi_getenv("QMPI_ON_ERROR");
    if (value && strcmp(value, "skip") != 0 && strcmp(value, "stop") != 0 &&
        qmpi_is_reporting_process()) {
        char *shown = qmpi_shorten(value);
        qmpi_printf("QMPI_ON_ERROR: unknown value '%s'; using stop\n  hint: set it to stop or skip",
                    shown);
        free(shown);
    }
}

/* All lines but the first are indented: who reads many messages sees where each begins. */
static char *indent(const char *problem)
{
    char *text = qmpi_allocate(3 * strlen(problem) + 1, 1), *to = text;
    for (const char *from = problem; *from; from++) {
        *to++ = *from;
        if (*from == '\n' && from[1] && from[1] != ' ')
            to = stpcpy(to, "  ");
    }
    return text;
}

static bool stopping; /* a message that ends the run has been printed */

static void print(const char *where, char *problem, const char *without,
                  enum qmpi_on_error on_error)
{
    const bool skip = qmpi_skips_errors(on_error);
    if (qmpi_is_reporting_process()) {
        char *text = indent(problem);
        qmpi_printf("%s: %-s", where, text);
        free(text);
        if (skip)
            qmpi_printf("  the run continues without %s (%s)", without,
                        on_error == QMPI_ON_ERROR_AS_SET ? "QMPI_ON_ERROR=skip"
                                                         : "on-error = skip");
    }
    free(problem);
    stopping |= !skip;
}

void qmpi_problem_stop(void)
{
    if (stopping)
        _exit(2); /* not exit: the handlers of tools that never worked must not run */
}

void qmpi_problem_report(const char *where, char *problem, const char *without)
{
    print(where, problem, without, QMPI_ON_ERROR_AS_SET);
    qmpi_problem_stop();
}

static void print_file(const struct qmpi_config_file *file)
{
    if (file->unreadable)
        print(file->scope == QMPI_SCOPE_LISTED ? "QMPI_CONFIG" : "configuration",
              qmpi_copy(file->unreadable), "it", qmpi_on_error_in(file, QMPI_SECTION_MIDDLE));
    for (int i = 0; i < file->config.problem_count; i++) {
        const struct qmpi_config_problem *wrong = &file->config.problems[i];
        char *shown = qmpi_shorten(wrong->text);
        char *where = wrong->line ? qmpi_message("%s, line %d '%s'", file->path, wrong->line, shown)
                                  : qmpi_copy(file->path);
        print(where, qmpi_copy(wrong->problem), wrong->without,
              qmpi_on_error_in(file, wrong->section));
        free(where);
        free(shown);
    }
}

void qmpi_problem_print_config(void)
{
    int count;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    for (int i = 0; i < count; i++)
        print_file(&files[i]);
}

void qmpi_problem_print_notes(const struct qmpi_tool_stack *stack)
{
    /* The command that tries a stack says them itself. */
    const bool wanted = !qmpi_getenv("QMPI_TRIAL") && qmpi_is_reporting_process();
    for (const char *line = stack->notes; wanted && *line;) {
        const size_t length = strcspn(line, "\n");
        qmpi_printf("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

char *qmpi_problem_where(const struct qmpi_entry *entry)
{
    const char *source = entry->source ? entry->source : middle;
    char *shown = qmpi_shorten(entry->text);
    char *where = entry->line ? qmpi_message("%s, line %d '%s'", source, entry->line, shown)
                  : entry->position
                      ? qmpi_message("%s, entry %d '%s'", source, entry->position, shown)
                      : qmpi_message("'%s', which is not in %s", shown, source);
    free(shown);
    return where;
}

/* What is wrong with the entry itself is an error all the same. */
static bool is_optional(const struct qmpi_entry *entry)
{
    const char *value = entry->reserved[QMPI_RESERVED_OPTIONAL];
    return value && !strcmp(value, "yes") && !entry->problem;
}

/* Only those who ask are told of it. */
static void note_optional(const char *where, char *problem)
{
    qmpi_debug(QMPI_TOPIC_LOAD, "%s: %.*s; the layer is left out (@optional=yes)", where,
               (int)strcspn(problem, "\n"), problem);
    if (qmpi_getenv("QMPI_CHECK") && !qmpi_getenv("QMPI_TRIAL")) {
        char *text = indent(problem);
        qmpi_printf("%s: %-s\n  the layer is left out (@optional=yes)", where, text);
        free(text);
    }
    free(problem);
}

void qmpi_problem_report_stack(const struct qmpi_tool_stack *stack, char *problem)
{
    const struct qmpi_tool_list *layers = &stack->layers;
    const struct qmpi_entry *stopping_entry = NULL;
    for (int i = 0; i < layers->count && !stopping_entry; i++) {
        const struct qmpi_entry *entry = &layers->entries[i];
        if (!is_optional(entry) && !qmpi_skips_errors(entry->on_error))
            stopping_entry = entry;
    }
    const struct qmpi_entry *entry = stopping_entry ? stopping_entry : &layers->entries[0];
    print(entry->source ? entry->source : stack->source, problem, "tools",
          stopping_entry || entry->on_error == QMPI_ON_ERROR_AS_SET ? entry->on_error
                                                                    : QMPI_ON_ERROR_SKIP);
    qmpi_problem_stop();
}

void qmpi_problem_print_entry(const struct qmpi_entry *entry, char *problem)
{
    char *where = qmpi_problem_where(entry);
    if (is_optional(entry)) {
        note_optional(where, problem);
        free(where);
        return;
    }
    print(where, problem, "this layer", entry->on_error);
    free(where);
}

void qmpi_problem_print_heading(const struct qmpi_entry *entry, char *problem)
{
    char *where =
        qmpi_message("%s, line %d '[stack %s]'", entry->source, entry->stack_line, entry->stack);
    print(where, problem, "this stack", entry->on_error);
    free(where);
}

void qmpi_problem_report_entry(const struct qmpi_entry *entry, char *problem)
{
    qmpi_problem_print_entry(entry, problem);
    qmpi_problem_stop();
}
