/* SPDX-License-Identifier: MIT */
/* x86-64: see frame.h. A call pushes its return address. */
#ifndef QMPI_DISPATCH_ARCH_FRAME_X86_64_H
#define QMPI_DISPATCH_ARCH_FRAME_X86_64_H

/* The canonical frame address; the return address is in the word below it. */
struct qmpi_frame_entry {
    const void *frame;
};

static inline void *qmpi_frame_return_address(struct qmpi_frame_entry entry)
{
    void *address;
    memcpy(&address, (const char *)entry.frame - sizeof address, sizeof address);
    return address;
}

static inline uintptr_t qmpi_frame_cfa(struct qmpi_frame_entry entry)
{
    return (uintptr_t)entry.frame;
}

/* A comparison can have an operand in memory, so an operand that is not evaluated saves a load. */
#define QMPI_FRAME_ALL(a, b, c, d) ((a) && (b) && (c) && (d))

#define QMPI_FRAME_ENTER(variable)                                                                 \
    __extension__({                                                                                \
        struct qmpi_frame_entry qmpi_old;                                                          \
        const void *qmpi_place;                                                                    \
        __asm__ volatile("movq " #variable "@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %1\n\t"        \
                         "movq %2, %%fs:(%0)"                                                      \
                         : "=&r"(qmpi_place), "=&r"(qmpi_old.frame)                                \
                         : "r"(QMPI_THIS_FRAME())                                                  \
                         : "memory");                                                              \
        qmpi_old;                                                                                  \
    })

#define QMPI_FRAME_LEAVE(variable, outer)                                                          \
    do {                                                                                           \
        const void *qmpi_place;                                                                    \
        __asm__ volatile("movq " #variable "@gottpoff(%%rip), %0\n\tmovq %1, %%fs:(%0)"            \
                         : "=&r"(qmpi_place)                                                       \
                         : "r"((outer)->frame)                                                     \
                         : "memory");                                                              \
    } while (0)

static inline struct qmpi_frame_entry qmpi_frame_outer(struct _Unwind_Context *context)
{
    enum { RBX = 3 };
    return (struct qmpi_frame_entry){(const void *)(uintptr_t)_Unwind_GetGR(context, RBX)};
}

#endif
