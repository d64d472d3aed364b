/* SPDX-License-Identifier: MIT */
/* aarch64, AAPCS64: see frame.h. A call leaves its return address in x30, which a function may save
 * anywhere in its frame. The thread pointer points to the thread-local variables. */
#ifndef QMPI_DISPATCH_ARCH_FRAME_AARCH64_H
#define QMPI_DISPATCH_ARCH_FRAME_AARCH64_H

/* Aligned, so that one instruction can store both members. */
struct qmpi_frame_entry {
    const void *frame;
    void *return_address;
} __attribute__((aligned(16)));

static inline void *qmpi_frame_return_address(struct qmpi_frame_entry entry)
{
    return entry.return_address;
}

#define QMPI_FRAME_FIND(variable)                                                                  \
    "adrp %0, :gottprel:" #variable "\n\tldr %0, [%0, #:gottprel_lo12:" #variable "]\n\t"          \
    "mrs x16, tpidr_el0\n\tadd %0, %0, x16\n\t"

/* __builtin_return_address removes the pointer authentication code. */
#define QMPI_FRAME_ENTER(variable)                                                                 \
    __extension__({                                                                                \
        struct qmpi_frame_entry qmpi_old;                                                          \
        const void *qmpi_place;                                                                    \
        __asm__ volatile(QMPI_FRAME_FIND(variable) "ldp %1, %2, [%0]\n\tstp %3, %4, [%0]"          \
                         : "=&r"(qmpi_place), "=&r"(qmpi_old.frame),                               \
                           "=&r"(qmpi_old.return_address)                                          \
                         : "r"(QMPI_THIS_FRAME()), "r"(__builtin_return_address(0))                \
                         : "x16", "memory");                                                       \
        qmpi_old;                                                                                  \
    })

#define QMPI_FRAME_LEAVE(variable, outer)                                                          \
    do {                                                                                           \
        const void *qmpi_place;                                                                    \
        __asm__ volatile(QMPI_FRAME_FIND(variable) "stp %1, %2, [%0]"                              \
                         : "=&r"(qmpi_place)                                                       \
                         : "r"((outer)->frame), "r"((outer)->return_address)                       \
                         : "x16", "memory");                                                       \
    } while (0)

static inline struct qmpi_frame_entry qmpi_frame_outer(struct _Unwind_Context *context)
{
    enum { X19 = 19, X20 };
    return (struct qmpi_frame_entry){(const void *)(uintptr_t)_Unwind_GetGR(context, X19),
                                     (void *)(uintptr_t)_Unwind_GetGR(context, X20)};
}

#endif
