/* SPDX-License-Identifier: MIT */
/* Tests the search in the dynamic loader's cache: in the real one, and in constructed ones, both
 * good and damaged. */
#include "elf/search.c" /* for find_in_cache, which reads a cache that is in memory */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* A cache of one row, followed by its strings. */
struct small_cache {
    struct cache_header header;
    struct cache_row entries[1];
    char strings[64];
};

enum { KEY_AT = offsetof(struct small_cache, strings), PATH_AT = KEY_AT + 16 };

static struct small_cache make_cache(void)
{
    struct small_cache cache;
    memset(&cache, 0, sizeof cache);
    memcpy(cache.header.magic, "glibc-ld.so.cache1.1", 20);
    cache.header.count = 1;
    cache.entries[0] =
        (struct cache_row){.flags = QMPI_LD_CACHE_FLAGS, .key = KEY_AT, .path = PATH_AT};
    strcpy(cache.strings, "libsmall.so.1");
    strcpy(cache.strings + 16, "/proc/self/exe"); /* a file that exists */
    return cache;
}

static void assert_found(const struct small_cache *cache, size_t size, const char *expected)
{
    char *path = find_in_cache((const char *)cache, size, "libsmall.so.1");
    if (expected)
        assert_string_equal(path, expected);
    else
        assert_null(path);
    free(path);
}

static void the_c_library_is_found(void **state)
{
    (void)state;
    char *path = qmpi_elf_search_cache("libc.so.6");
    assert_non_null(path);
    assert_int_equal(path[0], '/');
    assert_string_equal(strrchr(path, '/'), "/libc.so.6");
    assert_int_equal(access(path, R_OK), 0);
    free(path);
}

static void an_unknown_library_is_not_found(void **state)
{
    (void)state;
    assert_null(qmpi_elf_search_cache("libno-such-library.so.1"));
    assert_null(qmpi_elf_search_cache(""));
    assert_null(qmpi_elf_search_cache("libc"));
    assert_null(qmpi_elf_search_cache("/libc.so.6"));
}

static void a_good_cache_gives_the_path(void **state)
{
    (void)state;
    const struct small_cache cache = make_cache();
    assert_found(&cache, sizeof cache, "/proc/self/exe");
}

/* glibc before 2.32 writes such a file, for example on Debian 11 and RHEL 8. */
static void a_cache_behind_one_in_the_old_format_is_found(void **state)
{
    (void)state;
    struct {
        struct old_cache_header header;
        uint32_t entries[3 * 3];
        uint32_t padding;
        struct small_cache cache;
    } both = {.header = {.magic = "ld.so-1.7.0", .count = 3}, .cache = make_cache()};
    assert_int_equal(offsetof(__typeof__(both), cache) % 8, 0);
    char *path = find_in_cache((const char *)&both, sizeof both, "libsmall.so.1");
    assert_string_equal(path, "/proc/self/exe");
    free(path);
    both.header.count = UINT32_MAX;
    assert_null(find_in_cache((const char *)&both, sizeof both, "libsmall.so.1"));
    assert_null(find_in_cache((const char *)&both, sizeof both.header, "libsmall.so.1"));
}

static void a_row_whose_file_is_gone_is_passed_over(void **state)
{
    (void)state;
    struct small_cache cache = make_cache();
    strcpy(cache.strings + 16, "/no/such/file");
    assert_found(&cache, sizeof cache, NULL);
}

static void a_row_for_another_processor_is_passed_over(void **state)
{
    (void)state;
    struct small_cache cache = make_cache();
    cache.entries[0].flags = 0x0003;
    assert_found(&cache, sizeof cache, NULL);
}

static void another_format_is_passed_over(void **state)
{
    (void)state;
    struct small_cache cache = make_cache();
    memcpy(cache.header.magic, "ld.so-1.7.0\0", 12);
    assert_found(&cache, sizeof cache, NULL);
}

static void a_count_beyond_the_end_is_refused(void **state)
{
    (void)state;
    struct small_cache cache = make_cache();
    cache.header.count = 1000;
    assert_found(&cache, sizeof cache, NULL);
    cache.header.count = UINT32_MAX;
    assert_found(&cache, sizeof cache, NULL);
}

static void strings_beyond_the_end_are_not_followed(void **state)
{
    (void)state;
    struct small_cache cache = make_cache();
    cache.entries[0].key = UINT32_MAX;
    assert_found(&cache, sizeof cache, NULL);
    cache = make_cache();
    cache.entries[0].path = sizeof cache;
    assert_found(&cache, sizeof cache, NULL);
}

static void a_string_without_an_end_is_not_followed(void **state)
{
    (void)state;
    struct small_cache cache = make_cache();
    memset(cache.strings + 16, '/', sizeof cache.strings - 16);
    assert_found(&cache, sizeof cache, NULL);
}

static void a_cache_cut_short_anywhere_is_survived(void **state)
{
    (void)state;
    const struct small_cache cache = make_cache();
    const size_t whole = PATH_AT + sizeof "/proc/self/exe";
    for (size_t size = 0; size <= sizeof cache; size++) {
        /* The block has exactly this size, so that a sanitizer detects a read beyond its end. */
        char *part = malloc(size ? size : 1);
        assert_non_null(part);
        memcpy(part, &cache, size);
        assert_found((const struct small_cache *)part, size,
                     size < whole ? NULL : "/proc/self/exe");
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_c_library_is_found),
        cmocka_unit_test(an_unknown_library_is_not_found),
        cmocka_unit_test(a_good_cache_gives_the_path),
        cmocka_unit_test(a_cache_behind_one_in_the_old_format_is_found),
        cmocka_unit_test(a_row_whose_file_is_gone_is_passed_over),
        cmocka_unit_test(a_row_for_another_processor_is_passed_over),
        cmocka_unit_test(another_format_is_passed_over),
        cmocka_unit_test(a_count_beyond_the_end_is_refused),
        cmocka_unit_test(strings_beyond_the_end_are_not_followed),
        cmocka_unit_test(a_string_without_an_end_is_not_followed),
        cmocka_unit_test(a_cache_cut_short_anywhere_is_survived),
    };
    return cmocka_run_group_tests_name("ld_cache", tests, NULL, NULL);
}
