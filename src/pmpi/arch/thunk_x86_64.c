/* SPDX-License-Identifier: MIT */
/* x86-64, System V ABI: see pmpi/thunk.h. */
#include "pmpi/thunk.h"

#include <string.h>

static unsigned char *append_bytes(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

void qmpi_thunk_write(unsigned char *place, QMPI_Context node, qmpi_function *target)
{
    static const unsigned char load[] = {0x49, 0xbb};             /* movabs $…, %r11 */
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    place = append_bytes(place, load, sizeof load);
    place = append_bytes(place, &node, sizeof node);
    place = append_bytes(place, jump, sizeof jump);
    append_bytes(place, &target, sizeof target);
}

void qmpi_thunk_write_deferred(unsigned char *place, qmpi_function *const *slot)
{
    static const unsigned char load[] = {0x49, 0xbb};       /* movabs $…, %r11 */
    static const unsigned char jump[] = {0x41, 0xff, 0x23}; /* jmp *(%r11) */
    place = append_bytes(place, load, sizeof load);
    place = append_bytes(place, &slot, sizeof slot);
    append_bytes(place, jump, sizeof jump);
}
