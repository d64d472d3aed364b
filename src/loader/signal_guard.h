/* SPDX-License-Identifier: MIT */
/*
 * While layers are loaded and initialised: a library that is whole but damaged makes the loader,
 * its constructor or its init end by a signal. Then nothing would say which of the tools it was.
 * From start to end one message names the entry, and the process ends as after any other problem,
 * with status 2 (no layer can be left out there: the loader is in the middle of its work).
 */
#ifndef QMPI_LOADER_SIGNAL_GUARD_H
#define QMPI_LOADER_SIGNAL_GUARD_H

#include "config/tool_list.h"

/* Takes the signals. Not where QMPI_DEBUG traces loading: a debugger is to find the place. */
void qmpi_guard_start(void);

/* The entry whose layer is next. */
void qmpi_guard_entry(const struct qmpi_entry *entry);

/* Gives the signals back, but for those that a tool has taken meanwhile. */
void qmpi_guard_end(void);

#endif
