/* SPDX-License-Identifier: MIT */
/* Preprocessed for abi.py to read: the mpi.h of the standard ABI. */
#include <mpi.h>
