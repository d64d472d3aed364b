/* SPDX-License-Identifier: MIT */
/*
 * Exit handlers of PMPI tools. Handlers run in reverse order of registration, but the lower of two
 * layers registers last and runs first. If it finalizes MPI in its handler, like IPM, the upper
 * layer can no longer use MPI. Therefore, the handlers of PMPI layers run from the top of the stack
 * to the bottom.
 */
#ifndef QMPI_PMPI_ATEXIT_H
#define QMPI_PMPI_ATEXIT_H

/* Replaces __cxa_atexit, which atexit also calls, in the references of a PMPI tool. */
int qmpi_tool_cxa_atexit(void (*function)(void *), void *argument, void *object);

#endif
