/* SPDX-License-Identifier: MIT */
/* The constants of each supported processor in ELF files and in ld.so.cache. */
#ifndef QMPI_ELF_ARCH_MACHINE_H
#define QMPI_ELF_ARCH_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
enum {
    QMPI_ELF_MACHINE = EM_X86_64,
    QMPI_ELF_RELATIVE = R_X86_64_RELATIVE,
    QMPI_ELF_STATIC_TLS = R_X86_64_TPOFF64,
    QMPI_LD_CACHE_FLAGS = 0x0303, /* ELF, libc6, x86-64 */
};
#elif defined(__aarch64__)
enum {
    QMPI_ELF_MACHINE = EM_AARCH64,
    QMPI_ELF_RELATIVE = R_AARCH64_RELATIVE,
    QMPI_ELF_STATIC_TLS = R_AARCH64_TLS_TPREL,
    QMPI_LD_CACHE_FLAGS = 0x0a03, /* ELF, libc6, aarch64 */
};
#else
#error "qmpi: unsupported processor: add its ELF constants"
#endif

#endif
