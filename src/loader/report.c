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

static const char *list = "QMPI_TOOLS";

void qmpi_problem_name_list(const char *source)
{
    list = source;
}

static bool skips(void)
{
    const char *value = qmpi_setting("QMPI_ON_ERROR");
    return value && !strcmp(value, "skip");
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

void qmpi_problem_report(const char *where, char *problem, const char *without)
{
    if (qmpi_is_reporting_process()) {
        char *text = indent(problem);
        qmpi_printf("%s: %-s", where, text);
        free(text);
        if (skips())
            qmpi_printf("  the run continues without %s (QMPI_ON_ERROR=skip)", without);
    }
    free(problem);
    if (!skips())
        _exit(2); /* not exit: the handlers of tools that never worked must not run */
}

void qmpi_problem_report_config(void)
{
    const struct qmpi_config *config = qmpi_config_get();
    if (qmpi_config_unreadable())
        qmpi_problem_report("QMPI_CONFIG", qmpi_copy(qmpi_config_unreadable()), "it");
    for (int i = 0; i < config->problem_count; i++) {
        const struct qmpi_config_problem *wrong = &config->problems[i];
        char *shown = qmpi_shorten(wrong->text);
        char *where = wrong->line
                          ? qmpi_message("%s, line %d '%s'", qmpi_config_path(), wrong->line, shown)
                          : qmpi_copy(qmpi_config_path());
        qmpi_problem_report(where, qmpi_copy(wrong->problem), wrong->line ? "this line" : "it");
        free(where);
        free(shown);
    }
}

char *qmpi_problem_where(const struct qmpi_entry *entry)
{
    char *shown = qmpi_shorten(entry->text);
    char *where = entry->line ? qmpi_message("%s, line %d '%s'", list, entry->line, shown)
                  : entry->position
                      ? qmpi_message("%s, entry %d '%s'", list, entry->position, shown)
                      : qmpi_message("'%s', which is not in %s", shown, list);
    free(shown);
    return where;
}

void qmpi_problem_report_entry(const struct qmpi_entry *entry, char *problem)
{
    char *where = qmpi_problem_where(entry);
    qmpi_problem_report(where, problem, "this layer");
    free(where);
}
