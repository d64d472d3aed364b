/* SPDX-License-Identifier: MIT */
/*
 * The frame of a call, for each processor. A frame is identified by its canonical frame address
 * (DWARF: the stack pointer in the caller, before the call), from which the return address can be
 * found. The stack grows downwards, so that the frame of a function is above those of the functions
 * that it calls.
 */
#ifndef QMPI_DISPATCH_ARCH_FRAME_H
#define QMPI_DISPATCH_ARCH_FRAME_H

#include <string.h>

/* The frame of the function that contains this macro. */
#define QMPI_THIS_FRAME() __builtin_dwarf_cfa()

/* Returns the return address of a frame that is in use. */
static inline void *qmpi_frame_return_address(const void *frame)
{
#if defined(__x86_64__)
    void *address;
    memcpy(&address, (const char *)frame - sizeof address, sizeof address);
    return address;
#else
#error "qmpi: this processor needs its qmpi_frame_return_address"
#endif
}

/* The register in which thunk_call_X keeps the outer frame, by its DWARF number. */
#if defined(__x86_64__)
#define QMPI_THUNK_FRAME_REGISTER 3 /* rbx */
#else
#error "qmpi: this processor needs its QMPI_THUNK_FRAME_REGISTER"
#endif

/*
 * SET stores a thread-local pointer (of the initial-exec model); SWAP also returns its old value.
 * The assembly code computes its address each time, because compilers would keep it in a register
 * across the call of a layer, which costs an additional push, pop and move.
 */
#if defined(__x86_64__) && defined(__GNUC__)
#define QMPI_SET_THREAD_POINTER(variable, value)                                                   \
    do {                                                                                           \
        const void *qmpi_place;                                                                    \
        __asm__ volatile("movq " #variable "@gottpoff(%%rip), %0\n\tmovq %1, %%fs:(%0)"            \
                         : "=&r"(qmpi_place)                                                       \
                         : "r"(value)                                                              \
                         : "memory");                                                              \
    } while (0)
#define QMPI_SWAP_THREAD_POINTER(variable, value)                                                  \
    __extension__({                                                                                \
        const void *qmpi_place, *qmpi_old;                                                         \
        __asm__ volatile("movq " #variable "@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %1\n\t"        \
                         "movq %2, %%fs:(%0)"                                                      \
                         : "=&r"(qmpi_place), "=&r"(qmpi_old)                                      \
                         : "r"(value)                                                              \
                         : "memory");                                                              \
        qmpi_old;                                                                                  \
    })
#else
#define QMPI_SET_THREAD_POINTER(variable, value) ((variable) = (value))
#define QMPI_SWAP_THREAD_POINTER(variable, value)                                                  \
    __extension__({                                                                                \
        const void *qmpi_old = (variable);                                                         \
        (variable) = (value);                                                                      \
        qmpi_old;                                                                                  \
    })
#endif

#endif
