/* SPDX-License-Identifier: MIT */
/*
 * Tests that a forked child, which walks over the loaded objects by reading the loader's list
 * itself, finds all objects that dl_iterate_phdr finds in the parent. The objects include a copy of
 * a library, as libqmpi makes it; the copied library is cmocka.
 */
#define _GNU_SOURCE
#include "unit.h"

#include "elf/copy.h"
#include "elf/image.h"
#include "elf/loaded.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

struct list {
    struct object {
        ElfW(Addr) address;
        const ElfW(Phdr) * segments;
        int count;
    } objects[MOST];
    int count;
};

static int note(struct dl_phdr_info *info, size_t size, void *data)
{
    struct list *list = data;
    (void)size;
    if (list->count < MOST)
        list->objects[list->count++] =
            (struct object){info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
    return 0;
}

static bool has(const struct list *list, const struct object *object)
{
    for (int i = 0; i < list->count; i++) {
        const struct object *other = &list->objects[i];
        if (other->address == object->address && other->segments == object->segments &&
            other->count == object->count)
            return true;
    }
    return false;
}

static const char *same_name(void *data, const char *name)
{
    (void)data;
    (void)name;
    return NULL;
}

static bool keep_name(void *data, const char *name)
{
    (void)data;
    (void)name;
    return false;
}

/* Loads a copy of cmocka. The copy is a special case, because its program headers are at another
 * offset than in the original. */
static void load_a_copy_of_cmocka(void)
{
    Dl_info info;
    struct qmpi_elf_file file;
    char path[] = "/tmp/qmpi-test-walk-XXXXXX";
    assert_true(dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &info));
    assert_null(qmpi_elf_file_open(info.dli_fname, &file));
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    const struct qmpi_elf_copy copy = {
        .needed = same_name, .is_private = keep_name, .directory = "/"};
    assert_null(qmpi_elf_copy_write(&file, descriptor, &copy));
    close(descriptor);
    qmpi_elf_file_close(&file);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    assert_non_null(handle);
}

static void test_a_child_finds_all_objects(void **state)
{
    (void)state;
    struct list parent = {.count = 0}, child = {.count = 0};
    qmpi_elf_walk_start();
    load_a_copy_of_cmocka();
    qmpi_elf_walk(note, &parent);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        int missing = 0;
        alarm(10);
        if (!qmpi_elf_walks_alone())
            _exit(101);
        qmpi_elf_walk(note, &child);
        for (int i = 0; i < parent.count; i++)
            missing += !has(&child, &parent.objects[i]);
        _exit(missing);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(parent.count > 3);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_child_finds_all_objects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
