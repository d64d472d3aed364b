/* SPDX-License-Identifier: MIT */
/* The stack and the settings, from the environment and the configuration files. */
#ifndef QMPI_CONFIG_CONFIG_H
#define QMPI_CONFIG_CONFIG_H

#include "config/conditions.h"
#include "config/settings.h"
#include "config/stack.h"

#endif
