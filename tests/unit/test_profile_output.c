/* SPDX-License-Identifier: MIT */
/* Tests that regular files appear complete or not at all, and that pipes are written directly. */
#define _GNU_SOURCE
#include "unit.h"

#include "tools/profile/result/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/qmpi-profile-output-XXXXXX";

static int enter(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    static const char *const names[] = {"file", "link", "pipe", "old"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    /* rmdir fails if another file was left behind. */
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static bool write_words(const char *path, const char *words, bool whole, char **problem)
{
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    fputs(words, output.stream);
    return profile_output_close(&output, whole, problem);
}

/* Returns the name of the temporary file that this process uses while it writes "file". */
static const char *temporary(void)
{
    static char name[64];
    snprintf(name, sizeof name, "file.%ld.tmp", (long)getpid());
    return name;
}

static void assert_content(const char *path, const char *expected)
{
    char content[64] = "";
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_true(fread(content, 1, sizeof content - 1, stream) > 0);
    fclose(stream);
    assert_string_equal(content, expected);
}

static void assert_refused(const char *path, const char *words, bool whole, const char *expected)
{
    char *problem;
    assert_false(write_words(path, words, whole, &problem));
    assert_string_equal(problem, expected);
    free(problem);
    assert_int_equal(access(temporary(), F_OK), -1);
}

static void a_file_is_replaced_when_complete_and_keeps_its_mode(void **state)
{
    (void)state;
    struct profile_output output;
    struct stat status;
    char *problem;
    assert_true(write_words("file", "first", true, &problem));
    assert_int_equal(chmod("file", 0600), 0);
    assert_true(profile_output_open(&output, "file", &problem));
    fputs("second", output.stream);
    fflush(output.stream);
    assert_content("file", "first");
    assert_content(temporary(), "second");
    assert_true(profile_output_close(&output, true, &problem));
    assert_content("file", "second");
    assert_int_equal(access(temporary(), F_OK), -1);
    assert_int_equal(stat("file", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void the_previous_file_stays_if_writing_fails(void **state)
{
    (void)state;
    struct rlimit before, small;
    char *problem;
    assert_true(write_words("file", "kept", true, &problem));
    assert_refused("file", "part", false, "cannot write file: Cannot allocate memory");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){2, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    assert_refused("file", "too long", true, "cannot write file: File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_content("file", "kept");
}

static void the_message_names_the_reason(void **state)
{
    (void)state;
    assert_refused("/dev/full", "x", true, "cannot write /dev/full: No space left on device");
    assert_refused("none/file", "x", true, "cannot write none/file: No such file or directory");
    assert_refused("/", "x", true, "cannot write /: Is a directory");
    assert_refused("", "x", true, "cannot write : No such file or directory");
}

static void a_symbolic_link_stays_a_link(void **state)
{
    (void)state;
    struct stat status;
    char *problem;
    assert_true(write_words("old", "before", true, &problem));
    assert_int_equal(symlink("old", "link"), 0);
    assert_true(write_words("link", "after", true, &problem));
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_content("old", "after");
}

static void a_pipe_is_written_directly_and_causes_no_signal(void **state)
{
    (void)state;
    char *problem, content[16] = "";
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_true(write_words("pipe", "words", true, &problem));
    assert_int_equal(read(reader, content, sizeof content), 5);
    assert_string_equal(content, "words");

    struct profile_output output;
    sigset_t pending;
    assert_true(profile_output_open(&output, "pipe", &problem));
    close(reader);
    fputs("words", output.stream);
    assert_false(profile_output_close(&output, true, &problem));
    assert_string_equal(problem, "cannot write pipe: Broken pipe");
    free(problem);
    assert_int_equal(sigpending(&pending), 0);
    assert_false(sigismember(&pending, SIGPIPE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_when_complete_and_keeps_its_mode),
        cmocka_unit_test(the_previous_file_stays_if_writing_fails),
        cmocka_unit_test(the_message_names_the_reason),
        cmocka_unit_test(a_symbolic_link_stays_a_link),
        cmocka_unit_test(a_pipe_is_written_directly_and_causes_no_signal),
    };
    return cmocka_run_group_tests_name("profile_output", tests, enter, leave);
}
