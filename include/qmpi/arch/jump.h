/* SPDX-License-Identifier: MIT */
/*
 * How a function jumps to another one whose address it has loaded, for each processor. Part of
 * <qmpi/qmpi.h>.
 */
#ifndef QMPI_ARCH_JUMP_H
#define QMPI_ARCH_JUMP_H

/*
 * QMPIX_JUMP_TARGET(function) is `function`, for a call that is the last action of its caller:
 * compilers replace such a call with a jump. On aarch64, GCC makes such a jump only through x16 or
 * x17, because `bti c` at the target may accept no other register. GCC (12 at least) loads the
 * address into another register and then moves it. The variable below is in x16 from the beginning,
 * which saves the move. If GCC makes a call nevertheless, the variable saves nothing.
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
