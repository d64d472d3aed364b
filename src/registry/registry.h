/* SPDX-License-Identifier: MIT */
/* Registered tools, layers and their objects. */
#ifndef QMPI_REGISTRY_REGISTRY_H
#define QMPI_REGISTRY_REGISTRY_H

#include "registry/layer.h"
#include "registry/objects.h"
#include "registry/tool.h"

#endif
