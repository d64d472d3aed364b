/* SPDX-License-Identifier: MIT */
/*
 * The catchable signals that terminate a process, for tools that must report before the end.
 *
 * A signal is watched if its action is the default one when watching starts, or if another bundled
 * tool watches it; a fault, also if its handler is in a dependency of the MPI library. Ignored
 * signals stay ignored. A handler that the application installed before is not replaced; one that
 * it installs later replaces ours. After our handler, the previous action is taken, so that the
 * process ends as without qmpi. The application does not see our handler (QMPIX_Tool_sigaction), so
 * it cannot chain to it. Each tool that uses this has its own copy.
 */
#ifndef QMPI_TOOLKIT_SIGNALS_H
#define QMPI_TOOLKIT_SIGNALS_H

#include <stdbool.h>

enum { TOOL_SIGNALS_PATIENCE = 20 /* time limit in seconds for `on_fatal_signal` */ };

struct tool_signals {
    bool (*wants)(void); /* whether there is anything to report; in the handler */
    void (*on_fatal_signal)(int number, const char *name); /* in the handler, once: "SIGTERM" */
};

/* Starts watching; further calls also watch signals that have become watchable. `user` is not
 * copied. */
void tool_signals_watch(const struct tool_signals *user);

/* Stops watching: restores the previous actions, unless ours have been replaced. */
void tool_signals_unwatch(void);

/* In a child process: sets the default actions of watched signals. */
void tool_signals_set_default(void);

#endif
