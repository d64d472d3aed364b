/* SPDX-License-Identifier: MIT */
/* aarch64, AAPCS64: see pmpi/thunk.h. */
#include "pmpi/thunk.h"

#include <string.h>

/* A thunk: instructions, and the two words that they load. Instructions are little-endian. They
 * need no `bti c`, since only code in memory with PROT_BTI is checked for branch targets. */
struct code {
    uint32_t instructions[4];
    const void *words[2];
};
_Static_assert(sizeof(struct code) <= QMPI_THUNK_SIZE, "the code exceeds the size of a thunk");

#define LDR_X9_WORD_0 UINT32_C(0x58000089)    /* ldr x9, .+16 */
#define LDR_X16_WORD_0 UINT32_C(0x58000090)   /* ldr x16, .+16 */
#define LDR_X16_WORD_1 UINT32_C(0x580000b0)   /* ldr x16, .+20 */
#define LDR_X16_FROM_X16 UINT32_C(0xf9400210) /* ldr x16, [x16] */
#define BR_X16 UINT32_C(0xd61f0200)

void qmpi_thunk_write(unsigned char *place, QMPI_Context node, qmpi_function *target)
{
    const struct code code = {{LDR_X9_WORD_0, LDR_X16_WORD_1, BR_X16},
                              {node, (const void *)(uintptr_t)target}};
    memcpy(place, &code, sizeof code);
}

void qmpi_thunk_write_deferred(unsigned char *place, qmpi_function *const *slot)
{
    const struct code code = {{LDR_X16_WORD_0, LDR_X16_FROM_X16, BR_X16}, {slot, NULL}};
    memcpy(place, &code, sizeof code);
}
