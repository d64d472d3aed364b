/* SPDX-License-Identifier: MIT */
/*
 * Protects the floating-point environment of the program. The program may have enabled a signal for
 * inexact results (feenableexcept), may use another rounding direction, or may test the flags
 * later. Computations during its MPI calls must cause no signal, and must not change its flags.
 */
#ifndef QMPI_UTIL_ARCH_ARITHMETIC_H
#define QMPI_UTIL_ARCH_ARITHMETIC_H

/* Marks a function that is called between qmpi_arithmetic_begin and qmpi_arithmetic_end, so that
 * the compiler moves no part of its computation out of there. */
#ifdef __has_attribute
#if __has_attribute(noipa)
#define QMPI_COMPUTES __attribute__((noipa))
#endif
#endif
#ifndef QMPI_COMPUTES
#define QMPI_COMPUTES __attribute__((noinline))
#endif

#if defined(__x86_64__)

/* The environment of computations with double and float; long double is not used. */
struct qmpi_arithmetic {
    unsigned control;
};

/* MXCSR of the System V ABI: all exceptions are masked. */
enum { QMPI_ARITHMETIC_DEFAULT = 0x1f80 };

static inline void qmpi_arithmetic_set(unsigned control)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(control) : "memory");
}

/* Begins to compute in the default environment. The computations must be in functions that are
 * marked QMPI_COMPUTES, or have operands and results in memory. May be called by any thread, also
 * in a signal handler. Calls may be nested. */
static inline void qmpi_arithmetic_begin(struct qmpi_arithmetic *before)
{
    __asm__ volatile("stmxcsr %0" : "=m"(before->control) : : "memory");
    qmpi_arithmetic_set(QMPI_ARITHMETIC_DEFAULT);
}

/* Restores the previous environment with its flags. */
static inline void qmpi_arithmetic_end(const struct qmpi_arithmetic *before)
{
    qmpi_arithmetic_set(before->control);
}

#elif defined(__aarch64__)

/* The control and the status register for floating point. */
struct qmpi_arithmetic {
    unsigned long control, status;
};

/* Begins to compute in the default environment, with the rounding direction to the nearest and no
 * trap. */
static inline void qmpi_arithmetic_begin(struct qmpi_arithmetic *before)
{
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr"
                     : "=&r"(before->control), "=&r"(before->status)
                     :
                     : "memory");
}

static inline void qmpi_arithmetic_end(const struct qmpi_arithmetic *before)
{
    __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0"
                     :
                     : "r"(before->control), "r"(before->status)
                     : "memory");
}

#else

#include <fenv.h>

struct qmpi_arithmetic {
    fenv_t environment;
};

static inline void qmpi_arithmetic_begin(struct qmpi_arithmetic *before)
{
    fegetenv(&before->environment);
    fesetenv(FE_DFL_ENV);
}

static inline void qmpi_arithmetic_end(const struct qmpi_arithmetic *before)
{
    fesetenv(&before->environment);
}

#endif

#endif
