/* SPDX-License-Identifier: MIT */
/* Registered tools, layers and their objects. */
#ifndef QMPI_REGISTRY_REGISTRY_H
#define QMPI_REGISTRY_REGISTRY_H

#include "registry/layer.h"
#include "registry/services.h"
#include "registry/tool.h"

/*
 * Checks whether a layer can be used together with the layers below it, according to
 * QMPIX_Tool_info and the calls of QMPIX_Tool_declare so far. The tool of the layer must be loaded,
 * unless it is a PMPI tool. Returns NULL, or a problem, which the caller frees. With @force=yes,
 * there is no problem.
 */
char *qmpi_registry_check_conflicts(const struct qmpi_layer *layer);

/* Returns whether a layer declares that it provides `name`. */
bool qmpi_registry_declares(int tool_id, const char *name);

#endif
