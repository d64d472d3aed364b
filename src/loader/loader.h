/* SPDX-License-Identifier: MIT */
/* The libraries of tools, and messages about tools that cannot be used. */
#ifndef QMPI_LOADER_LOADER_H
#define QMPI_LOADER_LOADER_H

#include "loader/library.h"
#include "loader/problem.h"

#endif
