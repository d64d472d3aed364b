/* SPDX-License-Identifier: MIT */
/* Addresses of variables in a frame, which the compiler must compute again at each use. */
#ifndef QMPI_OBSERVE_ARCH_ADDRESS_H
#define QMPI_OBSERVE_ARCH_ADDRESS_H

/* The address of a variable in the frame. A compiler would otherwise compute the address once and
 * keep it in a register during the calls between two uses, which costs a push, a pop and two
 * moves. */
#if defined(__x86_64__) && defined(__GNUC__)
#define QMPI_ADDRESS(type, variable)                                                               \
    __extension__({                                                                                \
        type *qmpi_address;                                                                        \
        __asm__("lea %1, %0" : "=r"(qmpi_address) : "m"(variable));                                \
        qmpi_address;                                                                              \
    })
#elif defined(__aarch64__) && defined(__GNUC__)
#define QMPI_ADDRESS(type, variable)                                                               \
    __extension__({                                                                                \
        type *qmpi_address;                                                                        \
        __asm__("" : "=r"(qmpi_address) : "0"(&(variable)), "m"(variable));                        \
        qmpi_address;                                                                              \
    })
#else
#define QMPI_ADDRESS(type, variable) (&(variable))
#endif

#endif
