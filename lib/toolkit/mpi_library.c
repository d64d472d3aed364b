/* SPDX-License-Identifier: MIT */
/* See mpi_library.h. */
#define _GNU_SOURCE
#include "toolkit/mpi_library.h"

#include "generate/build.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

enum { FILES_MAX = 256 };

struct loaded {
    struct link_map *files[FILES_MAX];
    int count;
};

static void add(struct loaded *loaded, struct link_map *file)
{
    for (int i = 0; i < loaded->count; i++) {
        if (loaded->files[i] == file)
            return;
    }
    if (loaded->count < FILES_MAX)
        loaded->files[loaded->count++] = file;
}

static const char *file_name(const struct link_map *file)
{
    const char *slash = strrchr(file->l_name, '/');
    return slash ? slash + 1 : file->l_name;
}

/* Loaded under its name: Debian's and most others' files are called by their SONAME. */
static void add_by_name(struct loaded *loaded, struct link_map *any, const char *name)
{
    while (any->l_prev)
        any = any->l_prev;
    for (; any; any = any->l_next) {
        if (!strcmp(file_name(any), name)) {
            add(loaded, any);
            return;
        }
    }
}

static void add_needed(struct loaded *loaded, struct link_map *file)
{
    const char *strings = NULL;
    for (const ElfW(Dyn) *entry = file->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = (const char *)entry->d_un.d_ptr; /* glibc has relocated it */
    }
    for (const ElfW(Dyn) *entry = file->l_ld; strings && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_NEEDED)
            add_by_name(loaded, file, strings + entry->d_un.d_val);
    }
}

bool mpi_library_holds(const void *address)
{
    struct loaded loaded = {.count = 0};
    struct link_map *holder = NULL, *file = NULL;
    Dl_info info;
    void *library = dlopen(QMPI_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return false;
    bool holds = false;
    if (dladdr1(address, &info, (void **)&holder, RTLD_DL_LINKMAP) &&
        !dlinfo(library, RTLD_DI_LINKMAP, &file)) {
        add(&loaded, file);
        for (int i = 0; i < loaded.count && !holds; i++) {
            holds = loaded.files[i] == holder;
            add_needed(&loaded, loaded.files[i]);
        }
    }
    dlclose(library);
    return holds;
}
