/* SPDX-License-Identifier: MIT */
/* Preprocessed for mpi_header.py to read. */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0 /* Open MPI: declare removed functions */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> /* MPIX functions of Open MPI */
#endif
