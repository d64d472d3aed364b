/* SPDX-License-Identifier: MIT */
/* The objects in the process, and the MPI library among them. */
#ifndef QMPI_PROCESS_PROCESS_H
#define QMPI_PROCESS_PROCESS_H

#include "process/bindings.h"
#include "process/installation.h"
#include "process/mpi_kind.h"
#include "process/mpi_library.h"
#include "process/object.h"
#include "process/preloaded.h"
#include "process/quiet_errors.h"
#include "process/runtime_libraries.h"

#endif
