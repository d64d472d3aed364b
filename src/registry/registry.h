/* SPDX-License-Identifier: MIT */
/* Registered tools, layers and their objects. */
#ifndef QMPI_REGISTRY_REGISTRY_H
#define QMPI_REGISTRY_REGISTRY_H

#include "registry/conflicts.h"
#include "registry/layer.h"
#include "registry/objects.h"
#include "registry/services.h"
#include "registry/tool.h"

#endif
