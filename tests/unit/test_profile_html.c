/* SPDX-License-Identifier: MIT */
/* Tests the page in HTML: no string of a result becomes markup, and the data is complete. */
#define _GNU_SOURCE
#include "unit.h"

#include "profile_sample.h"
#include "tools/profile/result/html.h"
#include "tools/profile/result/profile.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static char *escape(const char *text)
{
    char *escaped;
    size_t length;
    FILE *stream = open_memstream(&escaped, &length);
    html_encode_text(stream, text);
    fclose(stream);
    return escaped;
}

static void encoded_text_is_valid_utf8_without_markup(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"", ""},
        {"plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         "plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"</script><b>", "&lt;/script&gt;&lt;b&gt;"},
        {"\" onload='x' &amp;", "&quot; onload=&#39;x&#39; &amp;amp;"},
        {"\xff<\xc3", "\xef\xbf\xbd&lt;\xef\xbf\xbd"},
        {"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"}, /* '<' in two bytes */
        {"a\x1b[1m\tb\n", "a\xef\xbf\xbd[1m\tb\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = escape(texts[i][0]);
        assert_string_equal(text, texts[i][1]);
        free(text);
    }
    char *none = escape(NULL);
    assert_string_equal(none, "");
    free(none);
}

/* ---- Data ------------------------------------------------------------------------------------ */

static int digit_of(char character)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = character ? strchr(digits, character) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Decodes base64 in place. Returns the length of the data, or -1 if the text is invalid. */
static long decode(char *text)
{
    long length = 0, digits = 0, padding = 0;
    unsigned bits = 0;
    unsigned char *out = (unsigned char *)text;
    for (; *text; text++) {
        if (*text == '\n')
            continue;
        padding += *text == '=';
        if (*text != '=' && (padding || digit_of(*text) < 0))
            return -1;
        bits = bits << 6 | (*text == '=' ? 0 : (unsigned)digit_of(*text));
        if (++digits % 4 == 0) {
            for (int shift = 16; shift >= 0; shift -= 8)
                out[length++] = (unsigned char)(bits >> shift);
        }
    }
    return digits % 4 || padding > 2 ? -1 : length - padding;
}

/* Unpacks gzip, which must give `most` bytes. Returns a string, which the caller frees. */
static char *unpack(const char *packed, long length, size_t most)
{
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)packed, .avail_in = (uInt)length};
    char *text = calloc(most + 1, 1);
    stream.next_out = (Bytef *)text;
    stream.avail_out = (uInt)most;
    assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, most);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    return text;
}

static void check_data(const char *data, size_t size)
{
    char *encoded;
    size_t length;
    FILE *target = open_memstream(&encoded, &length);
    FILE *stream = html_encode_open(target);
    assert_non_null(stream);
    fwrite(data, 1, size, stream);
    assert_int_equal(fclose(stream), 0);
    fclose(target);
    char *decoded = strdup(encoded);
    char *text = unpack(decoded, decode(decoded), size);
    assert_memory_equal(text, data, size);
    free(text);
    free(decoded);
    free(encoded);
}

static void data_of_any_size_is_unpacked_unchanged(void **state)
{
    (void)state;
    enum { MOST = 100000 };
    char *data = malloc(MOST);
    unsigned seed = 1;
    for (int i = 0; i < MOST; i++) {
        seed = seed * 1103515245 + 12345;
        data[i] =
            (char)(seed >> 16); /* Random bytes do not compress, so they fill several blocks. */
    }
    for (size_t size = 0; size < 40; size++)
        check_data(data, size);
    check_data(data, 12288 - 23); /* compressed, this fills a block */
    check_data(data, 12288 - 18);
    check_data(data, MOST);
    free(data);
}

/* ---- The page -------------------------------------------------------------------------------- */

static char *print_page(const struct profile_run *runs, int count)
{
    char *page;
    size_t length;
    FILE *stream = open_memstream(&page, &length);
    struct compare_result *comparison = profile_compare(runs, count);
    assert_true(profile_compare_print_html(stream, comparison));
    profile_compare_free(comparison);
    fclose(stream);
    return page;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    while ((text = strstr(text, word)) != NULL) {
        count++;
        text += strlen(word);
    }
    return count;
}

static void a_page_contains_each_run_and_no_markup_of_names(void **state)
{
    (void)state;
    struct profile_result *result = sample_full();
    free(result->program);
    result->program = strdup("/opt/</title></script><b>&\xff");
    const struct profile_run runs[] = {{"a\"><b>.json", result, 1}, {"b.json", result, 2}};
    char *page = print_page(runs, 2);
    assert_int_equal(
        count_of(page, "<script type=\"application/octet-stream;base64\" data-name=\""), 2);
    assert_int_equal(count_of(page, "</script>"), 4);
    assert_int_equal(count_of(page, "</title>"), 1);
    assert_int_equal(count_of(page, "<b>"), 0);
    assert_int_equal(count_of(page, "data-name=\"a&quot;&gt;&lt;b&gt;.json\""), 1);
    assert_non_null(strstr(page, "/opt/&lt;/title&gt;&lt;/script&gt;&lt;b&gt;&amp;\xef\xbf\xbd"));
    assert_non_null(strstr(
        page, "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"));
    assert_int_equal(count_of(page, "data-name=\"b.json and 1 more\""), 1);
    assert_null(strstr(page, "{{"));
    free(page);
    profile_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_text_is_valid_utf8_without_markup),
        cmocka_unit_test(data_of_any_size_is_unpacked_unchanged),
        cmocka_unit_test(a_page_contains_each_run_and_no_markup_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
