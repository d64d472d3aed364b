/* SPDX-License-Identifier: MIT */
/*
 * Where in the program a call is. Debug information is read by a thread of ours, with a stack that
 * is large enough, for the program's may be small, and may be that of a handler which interrupted
 * malloc. It makes no MPI call and takes no signal.
 */
#ifndef QMPI_TOOL_LOG_SITES_H
#define QMPI_TOOL_LOG_SITES_H

/* Starts that thread; again: does nothing. In `init`. */
void sites_start(void);

/* "solve (heat.c:42)", "solve (app+0x1139)" or "app+0x1139"; it lives for the whole run. Looked up
 * when an address is first seen. Any thread, in a signal handler too: the last of the three forms
 * where the thread that looks it up is not there (in a forked child), or kept from it for a while.
 */
const char *sites_find(const void *caller);

#endif
