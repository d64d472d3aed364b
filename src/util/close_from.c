/* SPDX-License-Identifier: MIT */
/* Defines qmpi_spawn_close_from of spawn.h. It is in a separate file, so that small static programs
 * that call it need not contain spawn.c. */
#define _GNU_SOURCE
#include "util/spawn.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void qmpi_spawn_close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, UINT_MAX, 0U) == 0)
        return;
#endif
    DIR *folder = opendir("/proc/self/fd"); /* for kernels before 5.9 */
    if (!folder) {
        const long limit = sysconf(_SC_OPEN_MAX);
        for (long i = first; i < limit; i++)
            close((int)i);
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const int descriptor = atoi(entry->d_name);
        if (descriptor >= first && descriptor != dirfd(folder))
            close(descriptor);
    }
    closedir(folder);
}
