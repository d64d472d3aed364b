/* SPDX-License-Identifier: MIT */
/*
 * Calls a tool's function so that no exception leaves it: in our frames, and in the loader's, locks
 * would stay held.
 */
#ifndef QMPI_REGISTRY_CATCH_H
#define QMPI_REGISTRY_CATCH_H

/*
 * Calls function(argument). NULL: it returned. Else it threw an exception of C++ or of another
 * language, which is caught and destroyed; the result is its type as text (to be freed). `code` is
 * an address in the tool, through whose libraries the C++ runtime is found.
 */
char *qmpi_catch(void (*function)(int), int argument, const void *code);

#endif
