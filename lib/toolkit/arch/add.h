/* SPDX-License-Identifier: MIT */
/*
 * Adds to a word that one thread writes and others read. If a signal handler of this thread adds to
 * the same word, no addition is lost. On x86-64, the addition is one instruction, without a lock
 * prefix. On aarch64, the store fails if the thread was interrupted after the load, and the
 * addition is repeated. On other processors, the addition is atomic.
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
