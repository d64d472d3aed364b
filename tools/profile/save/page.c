/* SPDX-License-Identifier: MIT */
/* See page.h. */
#include "save/page.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

profile_html_writer *page_find_writer(char **problem)
{
    char *path = tool_companion_file(PROFILE_HTML_FILE);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *find = library ? dlsym(library, PROFILE_HTML_FUNCTION) : NULL;
    free(path);
    *problem = NULL;
    if (!find) {
        const char *reason = dlerror();
        *problem = qmpi_format("the library that writes HTML cannot be opened: %s\n"
                               "hint: write JSON, which qmpi report --html reads",
                               reason ? reason : "out of memory");
        return NULL;
    }
    profile_html_writer *writer = ((profile_html_find *)(uintptr_t)find)();
    if (!writer)
        *problem = qmpi_format("%s", "HTML requires zlib, without which qmpi was built\n"
                                     "hint: write JSON, which qmpi report --html of another build "
                                     "reads");
    return writer;
}
