/* SPDX-License-Identifier: MIT */
/* What is in the process. */
#ifndef QMPI_PROCESS_PROCESS_H
#define QMPI_PROCESS_PROCESS_H

/* Its objects. */
#include "process/bindings.h"
#include "process/classify.h"
#include "process/mpi_kind.h"
#include "process/mpi_library.h"
#include "process/preloaded.h"

/* Names. */
#include "process/fortran_names.h"
#include "process/installation.h"
#include "process/mpi_symbols.h"
#include "process/runtime_libraries.h"

#endif
