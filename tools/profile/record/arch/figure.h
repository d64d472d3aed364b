/* SPDX-License-Identifier: MIT */
/* This adds to a word that only one thread writes, while other threads may read it. */
#ifndef QMPI_TOOL_PROFILE_RECORD_ARCH_FIGURE_H
#define QMPI_TOOL_PROFILE_RECORD_ARCH_FIGURE_H

#include <stdint.h>

/* Adds `more` to a word of this thread. The word is stored as a whole, and with release semantics.
 * The assembly needs one instruction, where compilers use three for a C11 load and store. */
static inline void figure_add(uint64_t *word, uint64_t more)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "re"(more) : "memory", "cc");
#else
    __atomic_store_n(word, *word + more, __ATOMIC_RELEASE);
#endif
}

#endif
