/* SPDX-License-Identifier: MIT */
/*
 * The programs and tools of this suite report the results of cases as lines in the file that the
 * variable CONFORMANCE_RESULTS names. A case that is reported several times must hold each time.
 */
#ifndef CONFORMANCE_REPORT_H
#define CONFORMANCE_REPORT_H

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void report_line(const char *name, const char *outcome, const char *detail)
{
    const char *path = getenv("CONFORMANCE_RESULTS");
    char line[512];
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", name, outcome, detail);
    if (length >= (int)sizeof line)
        length = (int)sizeof line - 1;
    if (file < 0 || write(file, line, (size_t)length) != length)
        abort();
    close(file);
}

/* Reports whether the case `name` holds. The formatted text says what happened if the case does not
 * hold. */
__attribute__((format(printf, 3, 4))) static inline void report(const char *name, int holds,
                                                                const char *format, ...)
{
    char detail[256];
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    report_line(name, holds ? "pass" : "fail", holds ? "" : detail);
}

/* Reports that the case `name` cannot be tried with this MPI library. */
static inline void report_skip(const char *name, const char *reason)
{
    report_line(name, "skip", reason);
}

/*
 * Begins a part that may crash, in a child process: `if (attempt("case")) { …; report(…); _exit(0);
 * }`. In the child, the function returns 1. The parent waits and reports a child that has failed;
 * in the parent, the function returns 0.
 */
static inline int attempt(const char *name)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        alarm(10);
        return 1;
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        report(name, 0, "no child process");
    else if (WIFSIGNALED(status))
        report(name, 0, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        report(name, 0, "ended with status %d", WEXITSTATUS(status));
    return 0;
}

#endif
