/* SPDX-License-Identifier: MIT */
/* See safe_read.h. */
#define _GNU_SOURCE
#include "toolkit/safe_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Copies memory through a pipe, because some containers forbid process_vm_readv. The kernel returns
 * EFAULT where a direct access would fault. `length` must not exceed what a pipe takes at once. */
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

bool tool_safe_copy(void *to, const void *from, size_t length)
{
    enum { PIPE = 4096 };
    const struct iovec local = {to, length}, remote = {(void *)(uintptr_t)from, length};
    const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied >= 0 || errno == EFAULT)
        return copied == (ssize_t)length;
    for (size_t done = 0; done < length; done += PIPE) {
        const size_t part = length - done < PIPE ? length - done : PIPE;
        if (!copy_by_pipe((char *)to + done, (const char *)from + done, part))
            return false;
    }
    return true;
}

bool tool_safe_copy_string(char *to, const char *from, size_t room, size_t *length)
{
    enum {
        STEP = 64
    }; /* This divides the page size, so either all bytes of a step can be read or none. */
    size_t have = 0;
    while (have < room) {
        size_t part = STEP - ((uintptr_t)from + have) % STEP;
        if (part > room - have)
            part = room - have;
        if (!tool_safe_copy(to + have, from + have, part))
            return false;
        const char *end = memchr(to + have, '\0', part);
        if (end) {
            *length = (size_t)(end - to);
            return true;
        }
        have += part;
    }
    *length = room;
    return true;
}

/* ---- Arguments of MPI_Pcontrol --------------------------------------------------------------- */

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

bool tool_safe_copy_pcontrol(long address, char text[PCONTROL_TEXT_MAX])
{
    const uintptr_t from = (uintptr_t)address;
    size_t length = 0;
    if (from < 4096 ||
        !tool_safe_copy_string(text, (const char *)from, PCONTROL_TEXT_MAX, &length) ||
        length == PCONTROL_TEXT_MAX)
        return false;
    text[length] = '\0';
    return *text && is_printable(text);
}
