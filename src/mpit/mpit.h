/* SPDX-License-Identifier: MIT */
/* MPI_T of the MPI library and of the layers as one. */
#ifndef QMPI_MPIT_MPIT_H
#define QMPI_MPIT_MPIT_H

#include "mpit/merge.h"
#include "mpit/stack_vars.h"

#endif
