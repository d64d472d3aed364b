/* SPDX-License-Identifier: MIT */
/* Preprocessed for mpi_header.py to read. */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0 /* Open MPI: what is removed, but still there */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> /* its MPIX functions */
#endif
