/* SPDX-License-Identifier: MIT */
/*
 * Usage: reload TIMES. Loads the MPI library (REDIRECT_MPI), calls it and unloads it, several
 * times. If REDIRECT_BINDING is set, also loads and unloads this language binding. Maps other
 * memory in between, so that the loader probably cannot use the same addresses again. The
 * program is not linked with MPI.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int use(const char *name, const char *binding_name)
{
    void *binding = binding_name ? dlopen(binding_name, RTLD_NOW) : NULL;
    int version = 0, subversion = 0;
    void *library = dlopen(name, RTLD_NOW);
    int (*get_version)(int *, int *) =
        library ? (int (*)(int *, int *))(uintptr_t)dlsym(library, "MPI_Get_version") : NULL;
    if (!get_version || (binding_name && !binding)) {
        fprintf(stderr, "%s\n", dlerror());
        return 95;
    }
    const int result = get_version(&version, &subversion);
    printf("MPI %d\n", version);
    dlclose(library);
    if (binding)
        dlclose(binding);
    return result;
}

int main(int argc, char **argv)
{
    for (int times = argc > 1 ? atoi(argv[1]) : 1; times > 0; times--) {
        const int result = use(getenv("REDIRECT_MPI"), getenv("REDIRECT_BINDING"));
        if (result)
            return result;
        for (int i = 0; i < 64; i++)
            mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return 0;
}
