/* SPDX-License-Identifier: MIT */
/* See readable.h. */
#define _GNU_SOURCE
#include "readable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kernel copies and says EFAULT where we would fault. Some containers forbid the first way. */
static bool copy_by_pipe(void *to, const void *from, size_t length)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return false;
    const bool good = write(ends[1], from, length) == (ssize_t)length &&
                      read(ends[0], to, length) == (ssize_t)length;
    close(ends[0]);
    close(ends[1]);
    return good;
}

static bool copy(void *to, const void *from, size_t length)
{
    const struct iovec local = {to, length}, remote = {(void *)(uintptr_t)from, length};
    const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied < 0 && errno != EFAULT)
        return copy_by_pipe(to, from, length);
    return copied == (ssize_t)length;
}

/* UTF-8 counts as printable. */
static bool is_printable(const char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7f)
            return false;
    }
    return true;
}

bool readable_string(long address, char text[READABLE_MAX])
{
    enum { STEP = 64 }; /* divides a page: a step is readable or not */
    const uintptr_t from = (uintptr_t)address;
    size_t have = 0;
    if (from < 4096)
        return false;
    memset(text, 0, READABLE_MAX);
    while (have < READABLE_MAX) {
        size_t length = STEP - (from + have) % STEP;
        if (length > READABLE_MAX - have)
            length = READABLE_MAX - have;
        if (!copy(text + have, (const void *)(from + have), length))
            return false;
        have += length;
        if (memchr(text, '\0', have))
            return *text && is_printable(text);
    }
    return false;
}
