/* SPDX-License-Identifier: MIT */
/* See mpi_library.h. */
#define _GNU_SOURCE
#include "toolkit/mpi_library.h"

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

static struct link_map *file_of(const void *address)
{
    struct link_map *file = NULL;
    Dl_info info;
    return address && dladdr1(address, &info, (void **)&file, RTLD_DL_LINKMAP) ? file : NULL;
}

static bool defines(struct link_map *file, void *handle, const char *name)
{
    return file_of(dlsym(handle, name)) == file;
}

/* The MPI library: libqmpi defines functions PMPI_X, too. It need not be in the global scope:
 * Python loads it for mpi4py alone. NULL: none, or it is linked statically. */
static struct link_map *find_library(void)
{
    static const char here;
    struct link_map *file = file_of(&here);
    bool found = false;
    while (file && file->l_prev)
        file = file->l_prev;
    while (file && !found && (file = file->l_next)) { /* the first one is the program */
        void *handle = dlopen(file->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue;
        found = defines(file, handle, "PMPI_Get_library_version") &&
                !defines(file, handle, "QMPIX_Get_function");
        dlclose(handle);
    }
    return file;
}

bool mpi_library_holds(const void *address)
{
    struct loaded loaded = {.count = 0};
    struct link_map *holder = file_of(address), *library = holder ? find_library() : NULL;
    bool holds = false;
    if (!library)
        return false;
    add(&loaded, library);
    for (int i = 0; i < loaded.count && !holds; i++) {
        holds = loaded.files[i] == holder;
        add_needed(&loaded, loaded.files[i]);
    }
    return holds;
}
