/* SPDX-License-Identifier: MIT */
/* What a layer of delay has done so far, as MPI_T performance variables: `qmpi.delay.failed`, … */
#ifndef QMPI_TOOL_DELAY_PUBLISH_H
#define QMPI_TOOL_DELAY_PUBLISH_H

#include "rule.h"

/* Has them published when MPI_T is first initialized. From `init`. */
void publish_lazily(struct rule *rule);

#endif
