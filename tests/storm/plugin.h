/* SPDX-License-Identifier: MIT */
/* The interface between the program and its plugins. */
#ifndef STORM_PLUGIN_H
#define STORM_PLUGIN_H

#include "ledger.h"

#include <mpi.h>

/* The arguments of a plugin, which makes its MPI calls `calls` times on `comm`. `rank` is the
 * rank of this process in `comm`. */
struct storm_use {
    struct storm_ledger *ledger;
    MPI_Comm comm;
    int rank, calls;
};

typedef void storm_plugin_function(const struct storm_use *use);
#define STORM_PLUGIN "storm_plugin"

#endif
