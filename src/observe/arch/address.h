/* SPDX-License-Identifier: MIT */
/* Addresses of variables in a frame, where the compiler is to compute them anew. */
#ifndef QMPI_OBSERVE_ARCH_ADDRESS_H
#define QMPI_OBSERVE_ARCH_ADDRESS_H

/* The address of a variable in the frame, computed here: compilers compute it once, keep it in a
 * register over the calls in between, and pay for that with a push, a pop and two moves. */
#if defined(__x86_64__) && defined(__GNUC__)
#define QMPI_ADDRESS(type, variable)                                                               \
    __extension__({                                                                                \
        type *qmpi_address;                                                                        \
        __asm__("lea %1, %0" : "=r"(qmpi_address) : "m"(variable));                                \
        qmpi_address;                                                                              \
    })
#else
#define QMPI_ADDRESS(type, variable) (&(variable))
#endif

#endif
