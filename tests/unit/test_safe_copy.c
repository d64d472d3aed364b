/* SPDX-License-Identifier: MIT */
/* Tests how memory is copied from valid and invalid pointers, both by process_vm_readv and through
 * a pipe. */
#define _GNU_SOURCE
#include "unit.h"

#include "toolkit/safe_read.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static bool forbidden; /* whether process_vm_readv fails, as in some containers */

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags)
{
    if (!forbidden)
        return __real_process_vm_readv(pid, local, local_count, remote, remote_count, flags);
    errno = EPERM;
    return -1;
}

/* A page that can be read. The page at `end`, behind it, cannot be read. */
static char *page, *end;

static int enter(void **state)
{
    (void)state;
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -1;
    end = page + size;
    return mprotect(end, size, PROT_NONE);
}

static void check_copy(void)
{
    char copy[16];
    static char large[100000], large_copy[sizeof large];
    memcpy(end - 4, "abc", 4);
    memset(copy, 0, sizeof copy);
    assert_true(tool_safe_copy(copy, end - 4, 4));
    assert_string_equal(copy, "abc");
    assert_false(tool_safe_copy(copy, end - 4, 5));
    assert_false(tool_safe_copy(copy, end, 1));
    assert_false(tool_safe_copy(copy, NULL, 1));
    memset(large, 7, sizeof large);
    assert_true(tool_safe_copy(large_copy, large, sizeof large));
    assert_memory_equal(large, large_copy, sizeof large);
}

static void check_string(void)
{
    char copy[128];
    size_t length = 0;
    memcpy(end - 4, "abc", 4);
    assert_true(tool_safe_copy_string(copy, end - 4, sizeof copy, &length));
    assert_int_equal(length, 3);
    assert_memory_equal(copy, "abc", 3);
    assert_true(tool_safe_copy_string(copy, end - 4, 2, &length));
    assert_int_equal(length, 2);
    memcpy(end - 4, "abcd", 4); /* The string has no end. */
    assert_false(tool_safe_copy_string(copy, end - 4, sizeof copy, &length));
    assert_true(tool_safe_copy_string(copy, end - 4, 4, &length));
    assert_int_equal(length, 4);
    assert_false(tool_safe_copy_string(copy, (const char *)16, sizeof copy, &length));
}

static void memory_is_copied_by_process_vm_readv(void **state)
{
    (void)state;
    forbidden = false;
    check_copy();
    check_string();
}

static void memory_is_copied_through_a_pipe_if_process_vm_readv_fails(void **state)
{
    (void)state;
    forbidden = true;
    check_copy();
    check_string();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_copied_by_process_vm_readv),
        cmocka_unit_test(memory_is_copied_through_a_pipe_if_process_vm_readv_fails)};
    return cmocka_run_group_tests_name("safe_copy", tests, enter, NULL);
}
