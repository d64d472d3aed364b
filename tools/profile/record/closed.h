/* SPDX-License-Identifier: MIT */
/*
 * Places in libraries that were closed. Another library may be mapped at their addresses, so the
 * keys of call sites then contain these places in the place of the addresses.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_CLOSED_H
#define QMPI_TOOL_PROFILE_RECORD_CLOSED_H

#include <stddef.h>
#include <stdint.h>

struct closed_place {
    const char *library; /* as QMPIX_Address_find returned it; exists until the process ends */
    size_t offset;
};

/* Replaces the addresses from `begin` to below `end` in the keys of all call sites of a layer.
 * `library` is the closed library, which was mapped at `begin`. `depth` is options.depth. Any
 * thread may call this. */
void closed_replace(int tool_id, size_t depth, const char *library, const void *begin,
                    const void *end);

/* Returns the place for which a word of a key stands, or NULL if it stands for none. The place and
 * the word stay valid until the process ends. */
const struct closed_place *closed_find(uint64_t word);

#endif
