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

/* qmpi_position lies at the same distance from the thread pointer in every thread. */
static int position_offset(void)
{
    char *thread_pointer;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    return (int)((char *)&qmpi_position - thread_pointer);
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

void qmpi_arch_write_stub(unsigned char *place, QMPI_Context node, qmpi_function *target)
{
    static const unsigned char load[] = {0x49, 0xbb};                    /* movabs $…, %r11 */
    static const unsigned char store[] = {0x64, 0x4c, 0x89, 0x1c, 0x25}; /* mov %r11, %fs:… */
    static const unsigned char jump[] = {0x41, 0xff, 0xe3};              /* jmp *%r11 */
    const int offset = position_offset();
    place = put(place, load, sizeof load);
    place = put(place, &node, sizeof node);
    place = put(place, store, sizeof store);
    place = put(place, &offset, sizeof offset);
    place = put(place, load, sizeof load);
    place = put(place, &target, sizeof target);
    put(place, jump, sizeof jump);
}

void qmpi_arch_write_jump(unsigned char *place, qmpi_function *const *slot)
{
    static const unsigned char load[] = {0x49, 0xbb};       /* movabs $…, %r11 */
    static const unsigned char jump[] = {0x41, 0xff, 0x23}; /* jmp *(%r11) */
    place = put(place, load, sizeof load);
    place = put(place, &slot, sizeof slot);
    put(place, jump, sizeof jump);
}
