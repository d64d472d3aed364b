/* SPDX-License-Identifier: MIT */
/* A result as bytes, to be sent to another rank of the same job. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_PACK_H
#define QMPI_TOOL_PROFILE_COLLECT_PACK_H

#include "profile/profile.h"

/* The bytes, to be freed; NULL: memory is out. */
char *profile_wire_pack(struct profile_result *result, size_t *size);

/* The result, to be freed with profile_result_free; NULL: memory is out, or the bytes are none. */
struct profile_result *profile_wire_unpack(const char *bytes, size_t size);

#endif
