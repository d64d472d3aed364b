/* SPDX-License-Identifier: MIT */
/*
 * Preloaded to give the ranks different clocks. SKEW_CLOCKS has an entry `NANOSECONDS/PPM` for each
 * rank, separated by commas. NANOSECONDS is added to CLOCK_MONOTONIC. PPM says by how many parts
 * per million the clock is too fast from SKEW_SINCE on, which is in nanoseconds, too. Unless both
 * are 0, the process also seems to be in a time namespace that only processes with the same entry
 * share. SKEW_NODES contains the name of a node for each rank, which only libqmpi sees. If
 * SKEW_COUNTER is set, the kernel seems to have no cycle counter.
 */
#undef _FILE_OFFSET_BITS /* with this macro, `open` below would also have the name open64 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Returns the entry of this rank and the rest of the list, or NULL. */
static const char *entry(const char *variable)
{
    const char *rank = getenv("PMI_RANK"), *list = getenv(variable);
    if (!rank)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    for (int i = rank ? atoi(rank) : 0; list && i > 0; i--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return list;
}

static long long shift, since;
static double ppm;

__attribute__((constructor)) static void start(void)
{
    const char *mine = entry("SKEW_CLOCKS"), *when = getenv("SKEW_SINCE");
    if (mine && sscanf(mine, "%lld/%lf", &shift, &ppm) == 2 && when)
        since = atoll(when);
}

EXPORT int clock_gettime(clockid_t id, struct timespec *time)
{
    const int result = (int)syscall(SYS_clock_gettime, id, time);
    if (result || id != CLOCK_MONOTONIC || (!shift && ppm == 0))
        return result;
    long long now = time->tv_sec * 1000000000LL + time->tv_nsec;
    now += shift + (long long)((double)(now - since) * ppm * 1e-6);
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

EXPORT ssize_t readlink(const char *path, char *text, size_t size)
{
    char name[64];
    if (!strstr(path, "/ns/time") || (!shift && ppm == 0))
        return syscall(SYS_readlinkat, AT_FDCWD, path, text, size);
    const int length = snprintf(name, sizeof name, "time:[%lld/%g]", shift, ppm);
    memcpy(text, name, (size_t)length < size ? (size_t)length : size);
    return length;
}

static int file_of(const char *text)
{
    const int file = memfd_create("skew", 0);
    if (write(file, text, strcspn(text, ",")) < 0 || lseek(file, 0, SEEK_SET) < 0)
        return -1;
    return file;
}

static int is_libqmpi(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && strstr(info.dli_fname, "libqmpi");
}

static int open_path(const void *caller, const char *path, int flags, va_list list)
{
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    if (strstr(path, "boot_id") && entry("SKEW_NODES") && is_libqmpi(caller))
        return file_of(entry("SKEW_NODES"));
    if (strstr(path, "available_clocksource") && getenv("SKEW_COUNTER"))
        return file_of("hpet acpi_pm\n");
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const int file = open_path(__builtin_return_address(0), path, flags, list);
    va_end(list);
    return file;
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const int file = open_path(__builtin_return_address(0), path, flags, list);
    va_end(list);
    return file;
}
