/* SPDX-License-Identifier: MIT */
/* x86-64, System V ABI: see arch.h. */
#include "arch.h"

#include <string.h>

enum qmpi_binding qmpi_arch_binding(const ElfW(Rela) * relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_JUMP_SLOT:
        return QMPI_BINDING_CALL;
    case R_X86_64_GLOB_DAT:
        return QMPI_BINDING_GOT;
    case R_X86_64_64:
        return QMPI_BINDING_DATA;
    default:
        return QMPI_BINDING_NONE;
    }
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

void qmpi_arch_write_stub(unsigned char *place, QMPI_Context node, qmpi_function *target)
{
    static const unsigned char load[] = {0x49, 0xbb};             /* movabs $…, %r11 */
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    place = put(place, load, sizeof load);
    place = put(place, &node, sizeof node);
    place = put(place, jump, sizeof jump);
    put(place, &target, sizeof target);
}

void qmpi_arch_write_jump(unsigned char *place, qmpi_function *const *slot)
{
    static const unsigned char load[] = {0x49, 0xbb};       /* movabs $…, %r11 */
    static const unsigned char jump[] = {0x41, 0xff, 0x23}; /* jmp *(%r11) */
    place = put(place, load, sizeof load);
    place = put(place, &slot, sizeof slot);
    put(place, jump, sizeof jump);
}
