/* SPDX-License-Identifier: MIT */
/* Preprocessed for mpi_header.py to read. */
#include <mpi.h>
