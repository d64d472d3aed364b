/* SPDX-License-Identifier: MIT */
/*
 * Under another MPI's launcher every process is alone: a job of four is four programs of one rank,
 * whose results look right. Tools would report them without a word.
 */
#ifndef QMPI_STARTUP_SINGLETON_H
#define QMPI_STARTUP_SINGLETON_H

#include "dispatch/chain.h"

/* Has what ends the chains of MPI_Init and MPI_Init_thread look whether that has come about. */
void qmpi_singleton_watch(qmpi_function **terminators);

#endif
