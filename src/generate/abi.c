/* SPDX-License-Identifier: MIT */
/* The mpi.h of the standard ABI, preprocessed for abi.py. */
#include <mpi.h>
