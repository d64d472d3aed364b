/* SPDX-License-Identifier: MIT */
/* See guard.h. */
#define _GNU_SOURCE
#include "guard.h"

#include "message.h"
#include "problem.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

static bool guarding, speaks;
static pthread_t loader;
static char *messages[SIGNALS]; /* made beforehand: a handler can make none */
static struct sigaction previous[SIGNALS];

static void handle(int number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (guarding && pthread_equal(pthread_self(), loader)) {
            const size_t length = speaks && messages[i] ? strlen(messages[i]) : 0;
            if (length && write(2, messages[i], length) < 0)
                _exit(2); /* nobody is there to read it */
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
    speaks = qmpi_speaks();
    guarding = true;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i].number, &action, &previous[i]);
}

void qmpi_guard_entry(const struct qmpi_entry *entry)
{
    char *where = guarding ? qmpi_problem_where(entry) : NULL;
    for (int i = 0; guarding && i < SIGNALS; i++) {
        char *last = messages[i];
        messages[i] =
            qmpi_format("qmpi: %s: ended by %s while it was loaded or initialised\n"
                        "qmpi:   mend: build or copy it again; QMPI_DEBUG=load leaves the signal "
                        "to a debugger\n",
                        where, signals[i].name);
        free(last);
    }
    free(where);
}

void qmpi_guard_end(void)
{
    struct sigaction now;
    for (int i = 0; guarding && i < SIGNALS; i++) {
        if (sigaction(signals[i].number, NULL, &now) == 0 && now.sa_handler == handle)
            sigaction(signals[i].number, &previous[i], NULL);
        free(messages[i]);
        messages[i] = NULL;
    }
    guarding = false;
}
