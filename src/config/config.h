/* SPDX-License-Identifier: MIT */
/* The list of tools and the settings, from the environment and the configuration file. */
#ifndef QMPI_CONFIG_CONFIG_H
#define QMPI_CONFIG_CONFIG_H

#include "config/file.h"
#include "config/tool_list.h"

#endif
