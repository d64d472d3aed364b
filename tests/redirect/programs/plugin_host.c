/* SPDX-License-Identifier: MIT */
/*
 * Usage: plugin_host PLUGIN HOW ARGUMENT. Loads a plugin, which uses MPI, and calls its function
 * `exchange` with ARGUMENT. HOW is the mode of dlopen: local, global, or deep (RTLD_DEEPBIND).
 * Plugins in Fortran cannot get ARGUMENT in this way, so they read it from the variable
 * REDIRECT_FOLDER. If REDIRECT_FIRST names a library, it is loaded before the plugin.
 *
 * The program itself does not use MPI, except with LINKED: then, it first calls MPI_Init if
 * REDIRECT_INITIALIZED is set, and otherwise MPI_Initialized.
 */
#define _GNU_SOURCE
#ifdef LINKED
#include <mpi.h>
#endif

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int mode_of(const char *how)
{
    return !strcmp(how, "global") ? RTLD_GLOBAL : !strcmp(how, "deep") ? RTLD_DEEPBIND : RTLD_LOCAL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 96;
#ifdef LINKED
    int flag;
    if (getenv("REDIRECT_INITIALIZED"))
        MPI_Init(&argc, &argv);
    else
        MPI_Initialized(&flag);
#else
    if (dlsym(RTLD_DEFAULT, "PMPI_Get_library_version") && !getenv("LD_PRELOAD")) {
        fprintf(stderr, "this program must not be linked with MPI\n");
        return 94;
    }
#endif
    if (getenv("REDIRECT_FIRST") && !dlopen(getenv("REDIRECT_FIRST"), RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 93;
    }
    setenv("REDIRECT_FOLDER", argv[3], 1);
    void *plugin = dlopen(argv[1], RTLD_NOW | mode_of(argv[2]));
    int (*exchange)(int, char **) =
        plugin ? (int (*)(int, char **))(uintptr_t)dlsym(plugin, "exchange") : NULL;
    if (!exchange) {
        fprintf(stderr, "%s\n", dlerror());
        return 95;
    }
    char *arguments[] = {argv[0], argv[3], NULL};
    return exchange(2, arguments);
}
