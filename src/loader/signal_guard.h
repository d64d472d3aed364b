/* SPDX-License-Identifier: MIT */
/*
 * Handles fatal signals while layers are loaded and initialized. A damaged library may cause a
 * signal in the loader, in its constructor or in its init function, and nothing would tell which
 * tool is the cause. Between start and end, a message names the entry, and the process terminates
 * with status 2, as after other problems. The layer cannot be left out, because the loader is
 * interrupted.
 */
#ifndef QMPI_LOADER_SIGNAL_GUARD_H
#define QMPI_LOADER_SIGNAL_GUARD_H

#include "config/config.h"

/* Installs the handlers, unless QMPI_DEBUG traces loading: the signal is then left to a debugger.
 */
void qmpi_guard_start(void);

/* Sets the entry of the next layer. */
void qmpi_guard_entry(const struct qmpi_entry *entry);

/* Restores the actions of the signals, except those that a tool has changed meanwhile. */
void qmpi_guard_end(void);

#endif
