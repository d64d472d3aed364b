/* SPDX-License-Identifier: MIT */
/* Adding to a word that only this thread writes, and that others may read meanwhile. */
#ifndef QMPI_TOOL_PROFILE_RECORD_ARCH_ADD_H
#define QMPI_TOOL_PROFILE_RECORD_ARCH_ADD_H

#include <stdint.h>

/* The word is written at once, and after what was written before. For a load and a store of C11,
 * compilers use two more instructions. */
static inline void note_add(uint64_t *word, uint64_t more)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "re"(more) : "memory", "cc");
#else
    __atomic_store_n(word, *word + more, __ATOMIC_RELEASE);
#endif
}

#endif
