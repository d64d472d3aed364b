/* SPDX-License-Identifier: MIT */
/*
 * Compares the arguments that a layer receives with those that it passes on, and the results and
 * outputs of the next function with those of the layer.
 */
#ifndef VALIDATOR_COMPARE_H
#define VALIDATOR_COMPARE_H

#include "validate/validate.h"

#include <stddef.h>

/* The saved values of one call. Their memory is used again for later calls. */
struct compare_values {
    const QMPIX_Function *function;
    unsigned char *arguments; /* all arguments, without padding */
    size_t arguments_capacity;
    unsigned char *outputs; /* all outputs of the next function, without padding */
    size_t outputs_capacity;
    size_t *output_sizes; /* [parameter]: bytes in `outputs`, or 0 if the output is not compared */
    int parameters_capacity;
    bool has_result;
    unsigned char result[16];
};

/* Saves the arguments that a layer received. */
void compare_save_arguments(struct compare_values *values, const QMPIX_Call *call);

/* Returns the saved argument `index`. */
const void *compare_saved_argument(const struct compare_values *values, int index);

/* Returns the index of the first argument of `call` that differs from the saved one, or -1 if there
 * is none. `call` must be a call of the same function. A status in place of MPI_STATUS_IGNORE, a
 * variable of the layer for an output, and a copy of an input do not count as differences. However,
 * a copy of a buffer, or of an array of unknown length or of more than 64 KiB, does. */
int compare_arguments(const struct compare_values *values, const QMPIX_Call *call);

/* Saves the result and the outputs of the next function. */
void compare_save_results(struct compare_values *values, const QMPIX_Call *call);

/* Returns whether the call has the saved result, or no result was saved. */
bool compare_result(const struct compare_values *values, const QMPIX_Call *call);

/* Returns the index of the first output of the call that differs from the saved one, or -1 if there
 * is none. */
int compare_outputs(const struct compare_values *values, const QMPIX_Call *call);

#endif
