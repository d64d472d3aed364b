/* SPDX-License-Identifier: MIT */
/*
 * See call_stack.h. The first thread's stack is where the loader began, and grows down to the
 * mapping below it; another one's is the mapping that also holds its static thread-local variables.
 */
#define _GNU_SOURCE
#include "util/call_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_stack_end; /* the loader's */

static _Thread_local char local __attribute__((tls_model("initial-exec")));

/* The file, by a small piece at a time. */
struct reader {
    int descriptor;
    ssize_t length, at;
    char bytes[256];
};

static int next_char(struct reader *reader)
{
    if (reader->at == reader->length) {
        do
            reader->length = read(reader->descriptor, reader->bytes, sizeof reader->bytes);
        while (reader->length < 0 && errno == EINTR);
        reader->at = 0;
    }
    return reader->length > 0 ? (unsigned char)reader->bytes[reader->at++] : -1;
}

/* A number in hexadecimal; `end` is what stands behind it. */
static uintptr_t read_number(struct reader *reader, int *end)
{
    uintptr_t number = 0;
    for (;;) {
        const int c = next_char(reader);
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            *end = c;
            return number;
        }
        number = number << 4 | (uintptr_t)digit;
    }
}

static struct qmpi_stack find(struct reader *reader, uintptr_t address)
{
    uintptr_t lowest = 0;
    for (int c = 0; c >= 0;) {
        const uintptr_t begin = read_number(reader, &c), end = c < 0 ? 0 : read_number(reader, &c);
        const uintptr_t first = (uintptr_t)__libc_stack_end;
        if (address >= begin && address < end)
            return (struct qmpi_stack){first >= begin && first < end ? lowest : begin, end};
        lowest = end;
        while (c >= 0 && c != '\n')
            c = next_char(reader);
    }
    return (struct qmpi_stack){0, 0};
}

/* Of the line that was found: none of the other columns has a slash. */
static size_t read_path(struct reader *reader, char *path, size_t size)
{
    static const char deleted[] = " (deleted)";
    const size_t behind = sizeof deleted - 1;
    size_t length = 0;
    for (int c = next_char(reader); c >= 0 && c != '\n'; c = next_char(reader)) {
        if ((length || c == '/') && length + 1 < size)
            path[length++] = (char)c;
    }
    if (length > behind && !memcmp(path + length - behind, deleted, behind))
        length -= behind;
    path[length] = '\0';
    return length;
}

/* And the file, if there is room for its path. */
static struct qmpi_stack look_up(uintptr_t address, char *path, size_t size)
{
    struct reader reader = {.descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    if (reader.descriptor < 0)
        return (struct qmpi_stack){0, 0};
    struct qmpi_stack stack = find(&reader, address);
    if (size && !(stack.end && read_path(&reader, path, size)))
        stack.end = 0;
    close(reader.descriptor);
    return stack;
}

struct qmpi_stack qmpi_stack_find(uintptr_t address)
{
    return look_up(address, NULL, 0);
}

bool qmpi_mapped_file(uintptr_t address, char *path, size_t size)
{
    return look_up(address, path, size).end != 0;
}

struct qmpi_stack qmpi_stack_of_thread(void)
{
    const bool is_first = syscall(SYS_gettid) == getpid();
    return qmpi_stack_find(is_first ? (uintptr_t)__libc_stack_end : (uintptr_t)&local);
}
