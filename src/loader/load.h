/* SPDX-License-Identifier: MIT */
/* Loads the library of a native tool and takes the tool that it announces. */
#ifndef QMPI_LOADER_LOAD_H
#define QMPI_LOADER_LOAD_H

#include "registry/layer.h"

/* Gives `layer` its tool, loading the library if need be. NULL, or what is wrong (to be freed). */
char *qmpi_load_native(struct qmpi_layer *layer, bool passed_by);

#endif
