/* SPDX-License-Identifier: MIT */
/*
 * Finds tools that write to the standard output, which belongs to the program: references of a QMPI
 * tool's library to printf and similar functions lead here.
 */
#ifndef VALIDATOR_OUTPUT_H
#define VALIDATOR_OUTPUT_H

/* Watches these functions. */
void output_start(void);

#endif
