/* SPDX-License-Identifier: MIT */
/* Loads the library of a QMPI tool and uses the tool that it registers. */
#ifndef QMPI_LOADER_LOAD_H
#define QMPI_LOADER_LOAD_H

#include "registry/registry.h"

/* Sets the tool of `layer`, and loads its library if necessary. Returns NULL, or a problem, which
 * the caller frees. */
char *qmpi_load_native(struct qmpi_layer *layer, bool passed_by);

#endif
