/* SPDX-License-Identifier: MIT */
/*
 * How a function jumps to another one whose address it has loaded, for each processor. Part of
 * <qmpi/qmpi.h>.
 */
#ifndef QMPI_ARCH_JUMP_H
#define QMPI_ARCH_JUMP_H

/*
 * QMPIX_JUMP_TARGET(function) is the function that is called last, by a jump instead of a call. On
 * aarch64, the target of such a jump must be in x16 or x17. GCC (12 at least) loads the address
 * into another register and then moves it. The variable below is in x16 from the beginning. Where
 * the compiler makes a call in spite of this, the instruction that is saved is needed again.
 */
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
typedef void QMPIX_Jump_target(void);

static inline __attribute__((always_inline)) QMPIX_Jump_target *
QMPIX_Jump_to(QMPIX_Jump_target *function)
{
    register QMPIX_Jump_target *target __asm__("x16") = function;
    __asm__("" : "+r"(target));
    return target;
}

#define QMPIX_JUMP_TARGET(function) QMPIX_Jump_to(function)
#else
#define QMPIX_JUMP_TARGET(function) (function)
#endif

#endif
