/* SPDX-License-Identifier: MIT */
/* The options of mpit. Those of settings are in settings.h. */
#ifndef QMPI_TOOL_MPIT_OPTIONS_H
#define QMPI_TOOL_MPIT_OPTIONS_H

#include "lifecycle.h"

#include <qmpi/qmpi.h>

/* For QMPIX_Tool_info. */
extern const QMPIX_Tool_option options_known[];

/* Reads those of a layer into it. False: something is wrong, and was said by QMPIX_Tool_fail. */
bool options_read(struct layer *layer);

#endif
