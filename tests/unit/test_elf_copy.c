/* SPDX-License-Identifier: MIT */
/* Tests of copies of libraries as files: what debuggers read, and new names of symbols. The copied
 * library is cmocka. */
#define _GNU_SOURCE
#include "unit.h"

#include "elf/copy.h"
#include "elf/image.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *same_library(void *data, const char *name)
{
    (void)data;
    (void)name;
    return NULL;
}

static bool is_given_name(void *data, const char *name)
{
    return !strcmp(name, data);
}

/* Opens the file of a copy of cmocka in which symbols of this name are renamed. */
static void open_copy(struct qmpi_elf_file *copied, const char *name)
{
    Dl_info info;
    struct qmpi_elf_file file;
    char path[] = "/tmp/qmpi-test-copy-XXXXXX";
    const struct qmpi_elf_copy copy = {.needed = same_library,
                                       .is_private = is_given_name,
                                       .data = (void *)(uintptr_t)name,
                                       .owner = 7,
                                       .directory = "/"};
    assert_true(dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &info));
    assert_null(qmpi_elf_file_open(info.dli_fname, &file));
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_null(qmpi_elf_copy_write(&file, descriptor, &copy));
    close(descriptor);
    qmpi_elf_file_close(&file);
    assert_null(qmpi_elf_file_open(path, copied));
    unlink(path);
}

/* Returns the offset in the file that the header of a section with this type and name has; 0: there
 * is no such section. */
static uint64_t section_offset(const struct qmpi_elf_file *file, uint32_t type, const char *name)
{
    const char *map = file->map;
    const ElfW(Ehdr) *header = file->map;
    const ElfW(Shdr) *sections = (const void *)(map + header->e_shoff);
    const char *names = map + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; header->e_shoff && i < header->e_shnum; i++) {
        if (sections[i].sh_type == type && !strcmp(names + sections[i].sh_name, name))
            return sections[i].sh_offset;
    }
    return 0;
}

static void test_section_headers_agree_with_the_dynamic_section(void **state)
{
    (void)state;
    struct qmpi_elf_file copy;
    open_copy(&copy, "");
    const char *map = copy.map;
    assert_int_equal(section_offset(&copy, SHT_DYNAMIC, ".dynamic"),
                     (const char *)copy.image.dynamic - map);
    assert_int_equal(section_offset(&copy, SHT_STRTAB, ".dynstr"), copy.image.strings - map);
    qmpi_elf_file_close(&copy);
}

static void test_a_renamed_symbol_is_unique(void **state)
{
    (void)state;
    struct qmpi_elf_file copy;
    int found = 0;
    open_copy(&copy, "_cmocka_run_group_tests");
    for (size_t i = 0; i < copy.image.symbol_count; i++) {
        const ElfW(Sym) *symbol = &copy.image.symbols[i];
        const char *name = qmpi_elf_string(&copy.image, symbol->st_name);
        assert_string_not_equal(name, "_cmocka_run_group_tests");
        if (!qmpi_elf_copy_renamed_length(name, 7))
            continue;
        found++;
        assert_int_equal(ELF64_ST_BIND(symbol->st_info), STB_GNU_UNIQUE);
    }
    assert_int_equal(found, 1);
    qmpi_elf_file_close(&copy);
}

static void test_a_new_name_has_the_same_hash(void **state)
{
    static const char *const names[] = {"", "a", "_ZN6CountsIiE6memberE", "\377\377\377\377\377"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int owner = 1; owner <= 12; owner++) {
            char *name = qmpi_elf_copy_rename(names[i], owner);
            assert_int_equal(qmpi_elf_hash(name), qmpi_elf_hash(names[i]));
            assert_int_equal(qmpi_elf_copy_renamed_length(name, owner), strlen(names[i]));
            assert_int_equal(qmpi_elf_copy_renamed_length(name, owner + 1), 0);
            free(name);
        }
        assert_int_equal(qmpi_elf_copy_renamed_length(names[i], 1), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_section_headers_agree_with_the_dynamic_section),
        cmocka_unit_test(test_a_renamed_symbol_is_unique),
        cmocka_unit_test(test_a_new_name_has_the_same_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
