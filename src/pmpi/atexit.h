/* SPDX-License-Identifier: MIT */
/*
 * What hosted tools do when the process exits. Handlers run last in, first out; but the lower of
 * two layers registers last and would, if it finalizes MPI there as IPM does, pull the ground from
 * under the upper one. Those of hosted layers therefore run from the top of the stack down.
 */
#ifndef QMPI_PMPI_ATEXIT_H
#define QMPI_PMPI_ATEXIT_H

/* Takes the place of __cxa_atexit, through which atexit goes too, in a hosted tool's references. */
int qmpi_tool_cxa_atexit(void (*function)(void *), void *argument, void *object);

#endif
