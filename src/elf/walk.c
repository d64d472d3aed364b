/* SPDX-License-Identifier: MIT */
/*
 * See walk.h. No fork and no walk waits for ever: a walk may itself wait for a thread that forks,
 * if that has the loader's lock. After PATIENCE, it goes on as without the other.
 */
#define _GNU_SOURCE
#include "elf/walk.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 1000 /* milliseconds */ };

static atomic_int walks, forks; /* threads that are in one */
static _Thread_local int depth; /* of nested walks */

/* This process was forked, so a thread that it does not have may hold the loader's lock. */
static atomic_bool forked;

static void wait_until(atomic_int *threads, int remaining)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; atomic_load(threads) > remaining && i < PATIENCE; i++)
        nanosleep(&pause, NULL);
}

static void begin(void)
{
    if (depth++ > 0)
        return;
    atomic_fetch_add(&walks, 1);
    if (atomic_load(&forks) > 0) { /* it may not have seen this walk */
        atomic_fetch_sub(&walks, 1);
        wait_until(&forks, 0);
        atomic_fetch_add(&walks, 1);
    }
}

static void end(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&walks, 1);
}

/* Whether memory can be read. Another thread of the parent may have been mapping or unmapping the
 * object during the fork; a page behind the end of its file is mapped, too. The kernel reads the
 * set of signals before it refuses the unknown operation. */
static bool can_be_read(const void *address, size_t size)
{
    enum { NO_OPERATION = -1, SET_SIZE = 8 };
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = (uintptr_t)address + size;
    for (uintptr_t at = (uintptr_t)address / page * page; at < end; at += page) {
        if (syscall(SYS_rt_sigprocmask, NO_OPERATION, (void *)at, NULL, SET_SIZE) &&
            errno == EFAULT)
            return false;
    }
    return true;
}

/* Takes the program headers at `address` if they are those of the object: its dynamic section is
 * known. */
static bool take_segments(const struct link_map *object, uintptr_t address, ElfW(Half) count,
                          struct dl_phdr_info *info)
{
    const ElfW(Phdr) *segments = (const void *)address;
    if (address % _Alignof(ElfW(Phdr)) || !can_be_read(segments, count * sizeof *segments))
        return false;
    for (int i = 0; i < count; i++) {
        if (segments[i].p_type == PT_DYNAMIC &&
            (const void *)(object->l_addr + segments[i].p_vaddr) == object->l_ld) {
            info->dlpi_phdr = segments;
            info->dlpi_phnum = count;
            return can_be_read(object->l_ld, segments[i].p_memsz);
        }
    }
    return false;
}

/* Finds the program headers of an object in the loader's list. Those of a library follow its ELF
 * header, at its first address; those of a copy (copy.h) are in front of its dynamic section. */
static bool find_segments(const struct link_map *object, struct dl_phdr_info *info)
{
    *info = (struct dl_phdr_info){.dlpi_addr = object->l_addr, .dlpi_name = object->l_name};
    if (!object->l_prev) { /* the program */
        info->dlpi_phdr = (const void *)getauxval(AT_PHDR);
        info->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
        return true;
    }
    const ElfW(Ehdr) *header = (const void *)object->l_addr;
    if (!can_be_read(header, sizeof *header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    const uintptr_t in_front = (uintptr_t)object->l_ld - header->e_phnum * sizeof(ElfW(Phdr));
    return take_segments(object, object->l_addr + header->e_phoff, header->e_phnum, info) ||
           take_segments(object, in_front, header->e_phnum, info);
}

/* dl_iterate_phdr without a lock, for a process with one thread. `dlpi_adds` is different each
 * time: what has been loaded since the last walk is not known. */
static int walk_alone(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static unsigned long long walk;
    struct dl_phdr_info info;
    int result = 0;
    walk++;
    for (const struct link_map *object = _r_debug.r_map; object && !result;
         object = object->l_next) {
        if (find_segments(object, &info)) {
            info.dlpi_adds = ~walk;
            result = visit(&info, sizeof info, data);
        }
    }
    return result;
}

bool qmpi_elf_walks_alone(void)
{
    struct stat tasks; /* a folder for each thread */
    return atomic_load(&forked) && stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 2 + 1;
}

int qmpi_elf_walk(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
    if (qmpi_elf_walks_alone())
        return walk_alone(visit, data);
    begin();
    const int result = dl_iterate_phdr(visit, data);
    end();
    return result;
}

static void before_fork(void)
{
    atomic_fetch_add(&forks, 1);
    wait_until(&walks, depth > 0);
}

static void after_fork(void)
{
    atomic_fetch_sub(&forks, 1);
}

static void after_fork_in_child(void)
{
    atomic_store(&forked, true);
    atomic_store(&forks, 0);
    atomic_store(&walks, depth > 0);
}

void qmpi_elf_walk_start(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
