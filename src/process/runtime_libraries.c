/* SPDX-License-Identifier: MIT */
/* See runtime_libraries.h. */
#include "process/runtime_libraries.h"

#include <stddef.h>
#include <string.h>

/* Without what follows `.so`. */
static const char *const names[] = {
    /* the C library, as gnu/lib-names.h has it, and a loader */
    "ld64", "libanl", "libBrokenLocale", "libc", "libcrypt", "libdl", "libm", "libmvec", "libnsl",
    "libpthread", "libresolv", "librt", "libthread_db", "libutil", "linux-vdso",
    "libc_malloc_debug",
    /* of GCC */
    "libasan", "libatomic", "libgcc_s", "libgfortran", "libgo", "libgomp", "libhwasan", "libitm",
    "liblsan", "libobjc", "libquadmath", "libssp", "libstdc++", "libtsan", "libubsan", "libgnat",
    "libgphobos",
    /* of LLVM */
    "libc++", "libc++abi", "libomp", "libomptarget", "libunwind", "libarcher", "libFortran_main",
    "libFortranRuntime", "libFortranDecimal",
    /* of other compilers */
    "libifcore", "libifcoremt", "libifport", "libimf", "libintlc", "libiomp5", "libirc", "libirng",
    "libsvml", "libnvc", "libnvf", "libnvomp", "libnvcpumath", "libpgmath",
    /* what stands between a process and a device */
    "libOpenCL", "libamdhip64", "libcuda", "libhsa-runtime64", "libnvidia-ml", "libze_loader"};

/* Its name ends with the processor's. */
static bool is_loader(const char *name)
{
    return !strncmp(name, "ld-linux", strlen("ld-linux"));
}

bool qmpi_runtime_is(const char *name)
{
    const char *end = strstr(name, ".so");
    const size_t length = end ? (size_t)(end - name) : strlen(name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length && !strncmp(names[i], name, length))
            return true;
    }
    return is_loader(name);
}
