/* SPDX-License-Identifier: MIT */
/* Preprocessed for mpi_header.py to read. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> /* its MPIX functions */
#endif
