/* SPDX-License-Identifier: MIT */
/*
 * Finds tools that write to the standard output, which belongs to the program: references of a QMPI
 * tool's library to printf and similar functions lead here.
 */
#ifndef VALIDATOR_OUTPUT_H
#define VALIDATOR_OUTPUT_H

#include "validate/validate.h"

/* Watches the libraries of all QMPI layers. Called once, when all layers are complete. */
void output_watch(const struct qmpi_validate_host *host);

#endif
