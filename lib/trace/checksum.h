/* SPDX-License-Identifier: MIT */
/* The checksum of blocks: CRC-32 as in zlib, gzip and PNG. Part of qmpi, so that the tool needs no
 * library in the process. */
#ifndef QMPI_TRACE_CHECKSUM_H
#define QMPI_TRACE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum, which is 0 at first. */
uint32_t trace_checksum(uint32_t checksum, const void *data, size_t size);

#endif
