/* SPDX-License-Identifier: MIT */
/*
 * The signals that end a process and can be caught, for tools that have something left to say then.
 *
 * A signal is watched where its action is the default one when watching begins, a fault also where
 * the handler is one of the MPI library's own dependencies, and where another bundled tool watches
 * it. A signal that is ignored stays so. A handler that the application installed before is left
 * alone; one that it installs later takes our place. After ours the signal takes the action that it
 * had before, so that the process ends as it would have without us. The application does not see
 * ours (QMPIX_Tool_sigaction), so that it cannot chain to it. Each tool that uses this has a copy
 * of its own.
 */
#ifndef QMPI_TOOLKIT_SIGNALS_H
#define QMPI_TOOLKIT_SIGNALS_H

#include <stdbool.h>

enum { TOOL_SIGNALS_PATIENCE = 20 /* seconds that `struck` may take */ };

struct tool_signals {
    bool (*wants)(void); /* whether there is anything left to say; in the handler */
    void (*on_fatal_signal)(int number, const char *name); /* in the handler, once: "SIGTERM" */
};

/* Begins to watch; again: watches also what has become watchable. `user` is not copied. */
void tool_signals_watch(const struct tool_signals *user);

/* Ends watching: the actions of before are put back where nobody has changed ours. */
void tool_signals_unwatch(void);

/* In a child of the process: watched signals end it as they do by default. */
void tool_signals_set_default(void);

#endif
