/* SPDX-License-Identifier: MIT */
/* The end of the process: what only then is known to be wrong, the summary, and the exit status. */
#ifndef VALIDATOR_END_H
#define VALIDATOR_END_H

#include "validate/validate.h"

/* Prepares the report, which is made when the process exits. */
void end_start(const struct qmpi_validate_host *host);

/* Notes that a layer has been called. Returns whether it is the first time. */
bool end_expect(void);

#endif
