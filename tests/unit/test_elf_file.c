/* SPDX-License-Identifier: MIT */
/*
 * Tests that the reader of library files reads a good file correctly, refuses a wrong file with a
 * reason, and never crashes on a damaged file. The good file is libqmpi itself.
 */
#define _GNU_SOURCE
#include "unit.h"

#include "elf/image.h"
#include "generate/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *library_path;
static char *library;
static size_t library_size;

/* A file with damaged or other content. It is in memory, and is opened by its path in /proc. */
static int scratch;
static char scratch_path[64];

static int read_library(void **state)
{
    (void)state;
    library_path = getenv("QMPI_TEST_LIBRARY");
    FILE *file = library_path ? fopen(library_path, "rb") : NULL;
    struct stat status;
    if (!file || fstat(fileno(file), &status))
        return -1;
    library_size = (size_t)status.st_size;
    library = malloc(library_size);
    const size_t length = library ? fread(library, 1, library_size, file) : 0;
    fclose(file);
    scratch = memfd_create("damaged", MFD_CLOEXEC);
    snprintf(scratch_path, sizeof scratch_path, "/proc/self/fd/%d", scratch);
    return length == library_size && scratch >= 0 ? 0 : -1;
}

static int release_library(void **state)
{
    (void)state;
    free(library);
    close(scratch);
    return 0;
}

static void write_scratch(const void *bytes, size_t size)
{
    assert_int_equal(ftruncate(scratch, 0), 0);
    assert_int_equal(pwrite(scratch, bytes, size, 0), (ssize_t)size);
}

/* Reads the symbols, needed libraries and DT_SONAME of a library that was accepted. */
static size_t walk(const struct qmpi_elf_file *file)
{
    const struct qmpi_elf_image *image = &file->image;
    size_t sum = 0;
    for (size_t i = 0; i < image->symbol_count; i++) {
        sum += qmpi_elf_defines(&image->symbols[i]);
        sum += strlen(qmpi_elf_string(image, image->symbols[i].st_name));
    }
    for (int i = 0; qmpi_elf_needed(image, i); i++)
        sum += strlen(qmpi_elf_needed(image, i));
    const char *soname = qmpi_elf_soname(image);
    return sum + (soname ? strlen(soname) : 0);
}

static const char *open_and_walk(const char *path)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (!reason) {
        volatile size_t sum = walk(&file);
        (void)sum;
        qmpi_elf_file_close(&file);
    }
    return reason;
}

static void assert_reason(const void *bytes, size_t size, const char *expected)
{
    write_scratch(bytes, size);
    const char *reason = open_and_walk(scratch_path);
    assert_non_null(reason);
    assert_string_equal(reason, expected);
}

static bool defines(const struct qmpi_elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            !strcmp(qmpi_elf_string(image, image->symbols[i].st_name), name))
            return true;
    }
    return false;
}

/* ---- good and wrong files -------------------------------------------------------------------- */

static void assert_is_libqmpi(const struct qmpi_elf_image *image)
{
    assert_true(defines(image, "MPI_Send"));
    assert_true(defines(image, "PMPI_Send"));
    assert_true(defines(image, "QMPI_Register_tool_name"));
    assert_false(defines(image, "getenv")); /* The library only refers to it. */
    assert_false(defines(image, "qmpi_elf_file_open"));
    assert_string_equal(qmpi_elf_soname(image), "libqmpi" QMPI_SUFFIX ".so.0");
}

static void a_good_library_is_read(void **state)
{
    (void)state;
    struct qmpi_elf_file file;
    assert_null(qmpi_elf_file_open(library_path, &file));
    assert_is_libqmpi(&file.image);
    bool needs_libc = false;
    for (int i = 0; qmpi_elf_needed(&file.image, i); i++)
        needs_libc |= !strcmp(qmpi_elf_needed(&file.image, i), "libc.so.6");
    assert_true(needs_libc);
    qmpi_elf_file_close(&file);
}

/* Writes the library, with a header that points to no section headers. */
static void write_without_sections(void)
{
    write_scratch(library, library_size);
    ElfW(Ehdr) header;
    memcpy(&header, library, sizeof header);
    header.e_shoff = 0;
    header.e_shnum = 0;
    assert_int_equal(pwrite(scratch, &header, sizeof header, 0), (ssize_t)sizeof header);
}

static void a_library_without_section_headers_is_read(void **state)
{
    (void)state;
    write_without_sections();
    struct qmpi_elf_file file;
    assert_null(qmpi_elf_file_open(scratch_path, &file));
    assert_is_libqmpi(&file.image);
    qmpi_elf_file_close(&file);
}

static void a_missing_file_is_refused(void **state)
{
    (void)state;
    assert_string_equal(open_and_walk("/no/such/file"), "No such file or directory");
}

static void a_directory_is_refused(void **state)
{
    (void)state;
    assert_string_equal(open_and_walk("/"), "a directory");
}

static void a_device_and_a_pipe_are_refused_without_waiting(void **state)
{
    (void)state;
    assert_string_equal(open_and_walk("/dev/null"), "not a regular file");
    char path[] = "/tmp/qmpi-test-XXXXXX";
    assert_non_null(mkdtemp(path));
    char fifo[64];
    snprintf(fifo, sizeof fifo, "%s/fifo", path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *reason = open_and_walk(fifo);
    unlink(fifo);
    rmdir(path);
    assert_string_equal(reason, "not a regular file");
}

static void an_empty_file_is_refused(void **state)
{
    (void)state;
    assert_reason("", 0, "an empty file");
}

static void a_text_file_is_refused(void **state)
{
    (void)state;
    static const char script[] = "#!/bin/sh\necho this is no library\n";
    assert_reason(script, sizeof script - 1, "not an ELF file");
    assert_reason("\177EL", 3, "not an ELF file");
}

/* Asserts the reason for which the library is refused if a byte of its header has this value. */
static void assert_header_reason(size_t offset, unsigned char value, const char *expected)
{
    const char saved = library[offset];
    library[offset] = (char)value;
    assert_reason(library, library_size, expected);
    library[offset] = saved;
}

static void a_library_for_another_machine_is_refused(void **state)
{
    (void)state;
    assert_header_reason(EI_CLASS, ELFCLASS32, "a 32-bit library; this process is 64-bit");
    assert_header_reason(EI_DATA, ELFDATA2MSB, "built for another processor");
    assert_header_reason(offsetof(ElfW(Ehdr), e_machine), EM_386, "built for another processor");
}

static void an_elf_file_that_is_no_library_is_refused(void **state)
{
    (void)state;
    assert_header_reason(offsetof(ElfW(Ehdr), e_type), ET_REL, "not a shared library");
    assert_header_reason(offsetof(ElfW(Ehdr), e_type), ET_EXEC, "not a shared library");
}

static void a_program_is_refused(void **state)
{
    (void)state;
    const char *reason = open_and_walk("/proc/self/exe");
    assert_non_null(reason); /* The reason depends on how programs are linked here. */
    assert_true(!strcmp(reason, "a program, not a library") ||
                !strcmp(reason, "not a shared library"));
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void a_library_cut_short_anywhere_is_refused(void **state)
{
    (void)state;
    enum { STEPS = 3000 };
    write_scratch(library, library_size);
    /* Tries every length near both ends, and at most STEPS lengths in between. The longest comes
     * first, so that each one needs only one call of ftruncate. */
    const size_t step = library_size / STEPS + 1;
    for (size_t size = library_size - 1;; size--) {
        assert_int_equal(ftruncate(scratch, (off_t)size), 0);
        const char *reason = open_and_walk(scratch_path);
        if (!reason)
            fail_msg("let through with %zu of %zu bytes", size, library_size);
        if (size >= EI_NIDENT)
            assert_string_equal(reason, "the file is truncated");
        if (size == 0)
            break;
        if (size > 2048 + step && size < library_size - 2048)
            size -= step - 1;
    }
}

/* The file has no section headers, so only its segments tell how long it must be. */
static void a_segment_cut_short_by_a_byte_is_refused(void **state)
{
    (void)state;
    ElfW(Ehdr) header;
    uint64_t end = 0;
    memcpy(&header, library, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        memcpy(&segment, library + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > end)
            end = segment.p_offset + segment.p_filesz;
    }
    write_without_sections();
    assert_int_equal(ftruncate(scratch, (off_t)end), 0);
    assert_null(open_and_walk(scratch_path));
    assert_int_equal(ftruncate(scratch, (off_t)end - 1), 0);
    assert_string_equal(open_and_walk(scratch_path), "the file is truncated");
}

/* Returns the next number of a fixed random sequence. */
static uint32_t next_random(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Flips bits in a part of the library, a few at a time, `rounds` times. */
static void flip_bits(size_t offset, size_t size, int rounds)
{
    assert_true(size > 0 && offset + size <= library_size);
    char *part = malloc(size);
    assert_non_null(part);
    write_scratch(library, library_size);
    for (int round = 0; round < rounds; round++) {
        memcpy(part, library + offset, size);
        const int flips = 1 + (int)(next_random() % 4);
        for (int i = 0; i < flips; i++)
            part[next_random() % size] ^= (char)(1U << (next_random() % 8));
        assert_int_equal(pwrite(scratch, part, size, (off_t)offset), (ssize_t)size);
        open_and_walk(scratch_path);
    }
    assert_int_equal(pwrite(scratch, library + offset, size, (off_t)offset), (ssize_t)size);
    assert_null(open_and_walk(scratch_path));
    free(part);
}

/* Finds the first section of a type. */
static void find_section(uint32_t type, size_t *offset, size_t *size)
{
    ElfW(Ehdr) header;
    memcpy(&header, library, sizeof header);
    for (int i = 0; i < header.e_shnum; i++) {
        ElfW(Shdr) section;
        memcpy(&section, library + header.e_shoff + (size_t)i * sizeof section, sizeof section);
        if (section.sh_type == type) {
            *offset = section.sh_offset;
            *size = section.sh_size;
            return;
        }
    }
    fail_msg("no section of type %u", type);
}

static void flipped_bits_in_the_header_are_survived(void **state)
{
    (void)state;
    flip_bits(0, sizeof(ElfW(Ehdr)), 4000);
}

static void flipped_bits_in_the_program_headers_are_survived(void **state)
{
    (void)state;
    ElfW(Ehdr) header;
    memcpy(&header, library, sizeof header);
    flip_bits(header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr)), 4000);
}

static void flipped_bits_in_the_section_headers_are_survived(void **state)
{
    (void)state;
    ElfW(Ehdr) header;
    memcpy(&header, library, sizeof header);
    flip_bits(header.e_shoff, header.e_shnum * sizeof(ElfW(Shdr)), 2000);
}

static void flipped_bits_in_the_dynamic_section_are_survived(void **state)
{
    (void)state;
    size_t offset = 0, size = 0;
    find_section(SHT_DYNAMIC, &offset, &size);
    flip_bits(offset, size, 4000);
}

static void flipped_bits_in_the_symbols_are_survived(void **state)
{
    (void)state;
    size_t offset = 0, size = 0;
    find_section(SHT_DYNSYM, &offset, &size);
    flip_bits(offset, size, 1000);
}

/* The reader reads this table only if no section header gives the number of symbols. The test
 * therefore hides the section headers. */
static void flipped_bits_in_the_hash_table_are_survived(void **state)
{
    (void)state;
    size_t offset = 0, size = 0;
    find_section(SHT_GNU_HASH, &offset, &size);
    ElfW(Ehdr) header, saved;
    memcpy(&saved, library, sizeof saved);
    header = saved;
    header.e_shoff = 0;
    header.e_shnum = 0;
    memcpy(library, &header, sizeof header);
    flip_bits(offset, size, 500);
    flip_bits(offset, 16, 2000); /* the header of the table */
    memcpy(library, &saved, sizeof saved);
}

static void a_string_table_without_an_end_is_refused(void **state)
{
    (void)state;
    size_t offset = 0, size = 0;
    find_section(SHT_STRTAB, &offset, &size); /* The first string table is the dynamic one. */
    write_scratch(library, library_size);
    assert_int_equal(pwrite(scratch, "x", 1, (off_t)(offset + size - 1)), 1);
    /* Without a valid string table, the reader does not use the symbol table either. */
    assert_string_equal(open_and_walk(scratch_path), "it has no dynamic symbol table");
}

/* Sets the offsets in the header, and the offset, address and size in each program header, one at a
 * time, to small values and to values that make sums overflow. */
static void extreme_offsets_are_survived(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,
                                      1,
                                      7,
                                      8,
                                      UINT32_MAX,
                                      (uint64_t)INT64_MAX,
                                      UINT64_MAX,
                                      UINT64_MAX - 7,
                                      UINT64_MAX - 55,
                                      (uint64_t)1 << 63};
    ElfW(Ehdr) header;
    memcpy(&header, library, sizeof header);
    size_t sites[128];
    size_t count = 0;
    sites[count++] = offsetof(ElfW(Ehdr), e_phoff);
    sites[count++] = offsetof(ElfW(Ehdr), e_shoff);
    for (size_t i = 0; i < header.e_phnum && count + 4 < 128; i++) {
        const size_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
        sites[count++] = at + offsetof(ElfW(Phdr), p_offset);
        sites[count++] = at + offsetof(ElfW(Phdr), p_vaddr);
        sites[count++] = at + offsetof(ElfW(Phdr), p_filesz);
    }
    write_scratch(library, library_size);
    for (size_t site = 0; site < count; site++) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            assert_int_equal(pwrite(scratch, &values[i], 8, (off_t)sites[site]), 8);
            open_and_walk(scratch_path);
        }
        assert_int_equal(pwrite(scratch, library + sites[site], 8, (off_t)sites[site]), 8);
    }
    assert_null(open_and_walk(scratch_path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_library_is_read),
        cmocka_unit_test(a_library_without_section_headers_is_read),
        cmocka_unit_test(a_missing_file_is_refused),
        cmocka_unit_test(a_directory_is_refused),
        cmocka_unit_test(a_device_and_a_pipe_are_refused_without_waiting),
        cmocka_unit_test(an_empty_file_is_refused),
        cmocka_unit_test(a_text_file_is_refused),
        cmocka_unit_test(a_library_for_another_machine_is_refused),
        cmocka_unit_test(an_elf_file_that_is_no_library_is_refused),
        cmocka_unit_test(a_program_is_refused),
        cmocka_unit_test(a_library_cut_short_anywhere_is_refused),
        cmocka_unit_test(a_segment_cut_short_by_a_byte_is_refused),
        cmocka_unit_test(a_string_table_without_an_end_is_refused),
        cmocka_unit_test(flipped_bits_in_the_header_are_survived),
        cmocka_unit_test(flipped_bits_in_the_program_headers_are_survived),
        cmocka_unit_test(flipped_bits_in_the_section_headers_are_survived),
        cmocka_unit_test(flipped_bits_in_the_dynamic_section_are_survived),
        cmocka_unit_test(flipped_bits_in_the_symbols_are_survived),
        cmocka_unit_test(flipped_bits_in_the_hash_table_are_survived),
        cmocka_unit_test(extreme_offsets_are_survived),
    };
    return cmocka_run_group_tests_name("elf_file", tests, read_library, release_library);
}
