/* SPDX-License-Identifier: MIT */
/*
 * PMPI layers: unmodified PMPI tools. The functions MPI_X of a tool are the interceptors of the
 * layer. Its references to PMPI_X are changed to point directly to the next layer, so that no code
 * of libqmpi runs between two PMPI layers, or between the lowest one and the MPI library.
 *
 * Files: load (a tool becomes a layer), closure (which objects a layer consists of), opening (while
 * they are loaded), copy_plan and library_copy (those that must be the layer's alone), relocate
 * (their relocations), next (where they lead), relocations (where they lead when a layer was
 * switched), dlopen, dlsym and environ (what a tool opens and looks up while it runs), deferred
 * (what it has looked up before it was a layer), arch/ (the processor's part).
 */
#ifndef QMPI_PMPI_PMPI_H
#define QMPI_PMPI_PMPI_H

#include "pmpi/closure.h"
#include "pmpi/deferred.h"
#include "pmpi/dlsym.h"
#include "pmpi/load.h"
#include "pmpi/next.h"
#include "pmpi/owner.h"
#include "pmpi/relocations.h"

#endif
