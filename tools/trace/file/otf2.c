/* SPDX-License-Identifier: MIT */
/* See otf2.h. */
#include "tools/trace/file/otf2.h"

#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>

const struct trace_otf2 *trace_otf2_open(const char *path, char **problem)
{
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *find = library ? dlsym(library, TRACE_OTF2_FUNCTION) : NULL;
    *problem = NULL;
    if (!find) {
        const char *reason = path ? dlerror() : TRACE_OTF2_FILE " is not beside the tools";
        *problem = qmpi_message("the library that writes OTF2 cannot be opened: %s\n"
                                "hint: install libotf2 (Debian: libopen-trace-format2-10), or "
                                "choose another format",
                                reason ? reason : "out of memory");
        return NULL;
    }
    const struct trace_otf2 *functions = ((trace_otf2_finder *)(uintptr_t)find)();
    if (!functions)
        *problem = qmpi_format("%s", "OTF2 requires libotf2, without which qmpi was built\n"
                                     "hint: choose another format, or use another build");
    return functions;
}
