/* SPDX-License-Identifier: MIT */
/* See runtime_libraries.h. */
#include "process/runtime_libraries.h"

#include <stdlib.h>
#include <string.h>

/*
 * Without what follows `.so`, sorted by strcmp. These are the C library, as gnu/lib-names.h has it,
 * and a loader; the libraries of GCC, of LLVM and of other compilers; and what stands between a
 * process and a device.
 */
static const char *const names[] = {"ld64",
                                    "libBrokenLocale",
                                    "libFortranDecimal",
                                    "libFortranRuntime",
                                    "libFortran_main",
                                    "libOpenCL",
                                    "libamdhip64",
                                    "libanl",
                                    "libarcher",
                                    "libasan",
                                    "libatomic",
                                    "libc",
                                    "libc++",
                                    "libc++abi",
                                    "libc_malloc_debug",
                                    "libcrypt",
                                    "libcuda",
                                    "libdl",
                                    "libgcc_s",
                                    "libgfortran",
                                    "libgnat",
                                    "libgo",
                                    "libgomp",
                                    "libgphobos",
                                    "libhsa-runtime64",
                                    "libhwasan",
                                    "libifcore",
                                    "libifcoremt",
                                    "libifport",
                                    "libimf",
                                    "libintlc",
                                    "libiomp5",
                                    "libirc",
                                    "libirng",
                                    "libitm",
                                    "liblsan",
                                    "libm",
                                    "libmvec",
                                    "libnsl",
                                    "libnvc",
                                    "libnvcpumath",
                                    "libnvf",
                                    "libnvidia-ml",
                                    "libnvomp",
                                    "libobjc",
                                    "libomp",
                                    "libomptarget",
                                    "libpgmath",
                                    "libpthread",
                                    "libquadmath",
                                    "libresolv",
                                    "librt",
                                    "libssp",
                                    "libstdc++",
                                    "libsvml",
                                    "libthread_db",
                                    "libtsan",
                                    "libubsan",
                                    "libunwind",
                                    "libutil",
                                    "libze_loader",
                                    "linux-vdso"};

struct text {
    const char *start;
    size_t length;
};

static int compare(const void *key, const void *element)
{
    const struct text *text = key;
    const char *name = *(const char *const *)element;
    const int order = strncmp(text->start, name, text->length);
    return order ? order : -(name[text->length] != '\0');
}

/* Its name ends with the processor's. */
static bool is_loader(const char *name)
{
    return !strncmp(name, "ld-linux", strlen("ld-linux"));
}

bool qmpi_runtime_is(const char *name)
{
    const char *end = strstr(name, ".so");
    const struct text text = {name, end ? (size_t)(end - name) : strlen(name)};
    return bsearch(&text, names, sizeof names / sizeof *names, sizeof *names, compare) ||
           is_loader(name);
}
