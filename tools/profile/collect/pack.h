/* SPDX-License-Identifier: MIT */
/* This converts a result to bytes and back, to send it to another rank of the same job. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_PACK_H
#define QMPI_TOOL_PROFILE_COLLECT_PACK_H

#include "tools/profile/result/profile.h"

/* Returns the bytes, which the caller frees, and their number. Returns NULL if memory is exhausted.
 */
char *pack_make(struct profile_result *result, size_t *size);

/* Returns the result, which the caller frees with profile_result_free. Returns NULL if memory is
 * exhausted or the bytes are not a result. */
struct profile_result *pack_read(const char *bytes, size_t size);

#endif
