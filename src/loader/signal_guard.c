/* SPDX-License-Identifier: MIT */
/* See signal_guard.h. */
#define _GNU_SOURCE
#include "loader/signal_guard.h"

#include "loader/report.h"
#include "util/util.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A sanitizer tells more of a fault than we do. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as GCC has it */
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"},
               {SIGBUS, "SIGBUS"},
               {SIGILL, "SIGILL"},
               {SIGFPE, "SIGFPE"},
               {SIGABRT, "SIGABRT"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static bool guarding, is_reporting;
static pthread_t loader;
/* A message's two parts, made beforehand: a handler can make none. */
static char *entry_part; /* which entry; NULL: no layer's turn has come */
static char *signal_parts[SIGNALS];
static struct sigaction previous[SIGNALS];

/* Writes the message in one piece. Failures are ignored. */
static void say(int signal_index)
{
    char *const last = signal_parts[signal_index];
    static char first[] = "qmpi: ";
    const struct iovec parts[] = {
        {first, strlen(first)}, {entry_part, strlen(entry_part)}, {last, strlen(last)}};
    const ssize_t written = writev(STDERR_FILENO, parts, sizeof parts / sizeof *parts);
    (void)written;
}

static void handle(int number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (guarding && pthread_equal(pthread_self(), loader)) {
            if (is_reporting && entry_part)
                say(i);
            _exit(2);
        }
        /* Another thread's: as if we were not there. It returns to what raised it. */
        sigaction(number, &previous[i], NULL);
        if (number == SIGABRT)
            raise(number);
    }
}

void qmpi_guard_start(void)
{
    if (sanitized || guarding || qmpi_debugs(QMPI_TOPIC_LOAD))
        return;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_NODEFER};
    loader = pthread_self();
    is_reporting = qmpi_is_reporting_process();
    for (int i = 0; i < SIGNALS; i++)
        signal_parts[i] = qmpi_message(": terminated by %s while it was loaded or initialized\n"
                                       "qmpi:   hint: rebuild or reinstall it; QMPI_DEBUG=load "
                                       "leaves the signal to a debugger\n",
                                       signals[i].name);
    guarding = true;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i].number, &action, &previous[i]);
}

void qmpi_guard_entry(const struct qmpi_entry *entry)
{
    if (!guarding)
        return;
    char *last = entry_part;
    entry_part = qmpi_problem_where(entry);
    free(last);
}

void qmpi_guard_end(void)
{
    struct sigaction now;
    for (int i = 0; guarding && i < SIGNALS; i++) {
        if (sigaction(signals[i].number, NULL, &now) == 0 && now.sa_handler == handle)
            sigaction(signals[i].number, &previous[i], NULL);
    }
    guarding = false;
    for (int i = 0; i < SIGNALS; i++) {
        free(signal_parts[i]);
        signal_parts[i] = NULL;
    }
    free(entry_part);
    entry_part = NULL;
}
