/* SPDX-License-Identifier: MIT */
/* See problem.h. */
#include "problem.h"

#include "message.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *list = "QMPI_TOOLS";

void qmpi_problem_name_list(const char *variable)
{
    list = variable;
}

static bool skips(void)
{
    const char *value = qmpi_getenv("QMPI_ON_ERROR");
    return value && !strcmp(value, "skip");
}

void qmpi_problem_start(void)
{
    const char *value = qmpi_getenv("QMPI_ON_ERROR");
    if (value && strcmp(value, "skip") != 0 && strcmp(value, "stop") != 0 && qmpi_speaks()) {
        char *shown = qmpi_shorten(value);
        qmpi_sayf(
            "QMPI_ON_ERROR: unknown value '%s', taken as stop\n  mend: set it to stop or skip",
            shown);
        free(shown);
    }
}

void qmpi_problem_report(const char *where, char *problem, const char *without)
{
    if (qmpi_speaks()) {
        const char *mend = strstr(problem, "\nmend: ");
        const int length = mend ? (int)(mend - problem) : (int)strlen(problem);
        qmpi_sayf("%s: %.*s%s%s", where, length, problem, mend ? "\n  " : "", mend ? mend + 1 : "");
        if (skips())
            qmpi_sayf("  the run goes on without %s (QMPI_ON_ERROR=skip)", without);
    }
    free(problem);
    if (!skips())
        _exit(2); /* not exit: the handlers of tools that never worked must not run */
}

char *qmpi_problem_where(const struct qmpi_entry *entry)
{
    char *shown = qmpi_shorten(entry->text);
    char *where = entry->position ? qmpi_format("%s, entry %d '%s'", list, entry->position, shown)
                                  : qmpi_format("'%s', which is not in %s", shown, list);
    free(shown);
    return where;
}

void qmpi_problem_report_entry(const struct qmpi_entry *entry, char *problem)
{
    char *where = qmpi_problem_where(entry);
    qmpi_problem_report(where, problem, "this layer");
    free(where);
}
