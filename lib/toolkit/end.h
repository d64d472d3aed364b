/* SPDX-License-Identifier: MIT */
/* How a process ends, by a signal or by exit. Tools must report before the end. */
#ifndef QMPI_TOOLKIT_END_H
#define QMPI_TOOLKIT_END_H

#include <stdbool.h>

/* ---- Signals --------------------------------------------------------------------------------- */

/*
 * Watches the catchable signals that terminate a process, for tools that must report before the
 * end.
 *
 * A signal is watched if its action is the default one when watching starts, or if another bundled
 * tool watches it. A fault is also watched if its handler is in the MPI library or one of its
 * dependencies. Ignored signals stay ignored. A handler that the application installed before is
 * not replaced, but one that it installs later replaces ours. After the report, our handler
 * performs the previous action, so that the process ends as it would without qmpi. The application
 * does not see our handler (QMPIX_Tool_sigaction), so it cannot chain to it. Each tool that uses
 * this code has its own copy of it.
 */

enum { TOOL_END_PATIENCE = 20 /* time limit in seconds for `on_fatal_signal` */ };

struct tool_end_signals {
    bool (*wants)(void); /* Is called in the handler, and returns whether a report is due. */
    /* Is called at most once, in the handler, if `wants` has returned true. `name` is the name of
     * the signal, as in "SIGTERM". */
    void (*on_fatal_signal)(int number, const char *name);
};

/* Starts watching. Further calls also watch signals that have become watchable. `user` is not
 * copied and must stay valid. */
void tool_end_watch_signals(const struct tool_end_signals *user);

/* Stops watching, and restores the previous actions of signals whose handler is still ours. A
 * signal stays watched if the handler of another bundled tool still passes it on to ours. */
void tool_end_unwatch_signals(void);

struct sigaction;

/* Returns whether a tool may replace the action of a signal by its own: it is the default action,
 * or that of a bundled tool which watches the signal. */
bool tool_end_can_replace(const struct sigaction *action);

/* Sets the default actions of watched signals. This is meant for a child process. */
void tool_end_set_default_signals(void);

/* ---- Exit ------------------------------------------------------------------------------------ */

/*
 * Calls `function` once when the destructors of all libraries have returned, or immediately if this
 * is impossible. The destructor of a tool may call this once. A tool is loaded later than the
 * libraries of the program, so its own destructor runs before their destructors, and one of these
 * may still call MPI_Finalize.
 */
void tool_end_after_destructors(void (*function)(void));

#endif
