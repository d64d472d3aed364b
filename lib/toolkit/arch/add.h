/* SPDX-License-Identifier: MIT */
/*
 * Adds to a word that one thread writes and others read. Nothing in this thread can interrupt it
 * between reading and writing: it is one instruction without lock prefix on x86-64, and a store on
 * aarch64 that fails, and is repeated, if the thread was interrupted since the load; otherwise an
 * atomic addition.
 */
#ifndef QMPI_TOOLKIT_ARCH_ADD_H
#define QMPI_TOOLKIT_ARCH_ADD_H

static inline void tool_add(unsigned long long *word, unsigned long long more)
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(more) : "cc");
#elif defined(__aarch64__)
    unsigned long long sum;
    unsigned failed;
    __asm__ volatile("1:\tldxr %0, %2\n\tadd %0, %0, %3\n\tstxr %w1, %0, %2\n\tcbnz %w1, 1b"
                     : "=&r"(sum), "=&r"(failed), "+Q"(*word)
                     : "r"(more));
#else
    __atomic_fetch_add(word, more, __ATOMIC_RELAXED);
#endif
}

#endif
