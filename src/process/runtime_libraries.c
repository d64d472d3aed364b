/* SPDX-License-Identifier: MIT */
/* See runtime_libraries.h. */
#include "process/runtime_libraries.h"

#include <stdlib.h>
#include <string.h>

/*
 * Names without `.so` and what follows it, sorted by strcmp. They are the names of the C library
 * (as in gnu/lib-names.h) and of a loader, of the libraries of GCC, LLVM and other compilers, and
 * of device drivers.
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

static int compare_name(const void *key, const void *element)
{
    const struct text *text = key;
    const char *name = *(const char *const *)element;
    const int order = strncmp(text->start, name, text->length);
    return order ? order : -(name[text->length] != '\0');
}

/* Whether a name is that of a loader, which ends with the name of the processor. */
static bool is_loader(const char *name)
{
    return !strncmp(name, "ld-linux", strlen("ld-linux"));
}

/* Whether a name is that of a library of LLVM, such as libclang_rt.asan.so, which may also contain
 * the name of the processor. */
static bool is_of_llvm(const char *name)
{
    return !strncmp(name, "libclang_rt.", strlen("libclang_rt."));
}

bool qmpi_runtime_is_sanitizer(const char *name)
{
    static const char *const starts[] = {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so",
                                         "libubsan.so"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (!strncmp(name, starts[i], strlen(starts[i])))
            return true;
    }
    return is_of_llvm(name);
}

bool qmpi_runtime_is(const char *name)
{
    const char *end = strstr(name, ".so");
    const struct text text = {name, end ? (size_t)(end - name) : strlen(name)};
    return bsearch(&text, names, sizeof names / sizeof *names, sizeof *names, compare_name) ||
           is_loader(name) || is_of_llvm(name);
}
