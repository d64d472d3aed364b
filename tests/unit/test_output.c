/* SPDX-License-Identifier: MIT */
/* Tests that output reaches its file, and harms neither a file of the program nor the program
 * itself. */
#define _GNU_SOURCE
#include "unit.h"

#include "util/output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/qmpi-test-XXXXXX";
static char ours[64], theirs[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(ours, sizeof ours, "%s/ours", folder);
    snprintf(theirs, sizeof theirs, "%s/theirs", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(ours);
    unlink(theirs);
    return rmdir(folder);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(ours);
    unlink(theirs);
    return 0;
}

static void assert_content(const char *path, const char *expected)
{
    char text[256];
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    const ssize_t length = read(descriptor, text, sizeof text - 1);
    assert_true(length >= 0);
    text[length] = '\0';
    close(descriptor);
    assert_string_equal(text, expected);
}

static void open_ours(struct qmpi_output *output)
{
    assert_int_equal(qmpi_output_open(output, ours, O_CREAT | O_TRUNC, 0666), 0);
}

static void write_text(struct qmpi_output *output, const char *text)
{
    assert_int_equal(qmpi_output_write(output, text, strlen(text)), 0);
}

/* Closes the descriptor of an output, as a program may do even with descriptors that it has not
 * opened, and opens a file of the program with the same number. Returns that number. */
static int take_away(const struct qmpi_output *output)
{
    const int mine = open(theirs, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(close(output->descriptor), 0);
    assert_int_equal(dup2(mine, output->descriptor), output->descriptor);
    close(mine);
    return output->descriptor;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static void a_file_has_a_high_descriptor_that_exec_closes(void **state)
{
    struct qmpi_output output;
    (void)state;
    open_ours(&output);
    assert_true(output.descriptor > 900);
    assert_int_equal(fcntl(output.descriptor, F_GETFD), FD_CLOEXEC);
    assert_int_equal(qmpi_output_close(&output), 0);
}

static void further_text_is_appended_after_the_program_has_closed_the_descriptor(void **state)
{
    struct qmpi_output output;
    (void)state;
    open_ours(&output);
    write_text(&output, "one\n");
    close(output.descriptor);
    write_text(&output, "two\n");
    write_text(&output, "three\n");
    assert_int_equal(qmpi_output_close(&output), 0);
    assert_content(ours, "one\ntwo\nthree\n");
}

static void a_file_of_the_program_that_took_the_descriptor_is_not_changed_or_closed(void **state)
{
    struct qmpi_output output;
    (void)state;
    open_ours(&output);
    write_text(&output, "one\n");
    const int mine = take_away(&output);
    write_text(&output, "two\n");
    assert_true(output.descriptor != mine);
    const int again = take_away(&output);
    assert_int_equal(qmpi_output_close(&output), 0);
    assert_int_equal(write(mine, "data", 4), 4);
    assert_int_equal(lseek(again, 0, SEEK_END), 4);
    close(mine);
    close(again);
    assert_content(ours, "one\ntwo\n");
    assert_content(theirs, "data");
}

static void a_deleted_or_replaced_file_is_an_error(void **state)
{
    struct qmpi_output output;
    (void)state;
    open_ours(&output);
    const int held =
        dup(output.descriptor); /* keeps the inode, so that the next file gets another inode */
    unlink(ours);
    close(take_away(&output));
    assert_int_equal(qmpi_output_write(&output, "x", 1), ENOENT);
    const int other =
        open(ours, O_RDWR | O_CREAT | O_CLOEXEC, 0666); /* another file of the same name */
    assert_int_equal(qmpi_output_write(&output, "x", 1), ESTALE);
    assert_int_equal(qmpi_output_close(&output), 0);
    close(other);
    close(held);
    assert_content(ours, "");
}

static void a_renamed_file_is_opened_again_by_its_new_path(void **state)
{
    struct qmpi_output output;
    (void)state;
    open_ours(&output);
    write_text(&output, "one\n");
    assert_int_equal(rename(ours, theirs), 0);
    qmpi_output_set_path(&output, theirs);
    close(output.descriptor);
    write_text(&output, "two\n");
    assert_int_equal(qmpi_output_close(&output), 0);
    assert_content(theirs, "one\ntwo\n");
}

/* Sets the soft limit on descriptors to 32 and, unless `hard` is 0, the hard limit to `hard`. Then
 * uses up all descriptors. Returns the previous limits. */
static struct rlimit use_up_descriptors(int hard)
{
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = 32;
    limit.rlim_max = hard ? (rlim_t)hard : before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (dup(STDOUT_FILENO) >= 0)
        continue;
    return before;
}

static void a_file_is_opened_beyond_the_soft_limit_on_descriptors(void **state)
{
    struct qmpi_output output;
    struct rlimit after;
    (void)state;
    const pid_t child = fork();
    if (!child) {
        use_up_descriptors(0);
        const bool good = !qmpi_output_open(&output, ours, O_CREAT | O_TRUNC, 0666) &&
                          !qmpi_output_write(&output, "text", 4) && !qmpi_output_close(&output) &&
                          !getrlimit(RLIMIT_NOFILE, &after) && after.rlim_cur == 32;
        _exit(!good);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_content(ours, "text");
}

static void without_any_descriptor_there_is_an_error(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (!child) {
        struct qmpi_output output;
        use_up_descriptors(32);
        _exit(qmpi_output_open(&output, ours, O_CREAT, 0666) != EMFILE || output.descriptor != -1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void a_full_device_is_an_error(void **state)
{
    struct qmpi_output output;
    (void)state;
    assert_int_equal(qmpi_output_open(&output, "/dev/full", 0, 0), 0);
    assert_int_equal(qmpi_output_write(&output, "x", 1), ENOSPC);
    assert_int_equal(qmpi_output_close(&output), 0);
}

static bool is_pending(int number)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, number) == 1;
}

static void a_pipe_without_a_reader_is_an_error_and_no_signal(void **state)
{
    struct qmpi_output output;
    char path[32];
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(qmpi_output_open(&output, path, 0, 0), 0);
    close(ends[0]);
    assert_int_equal(qmpi_output_write(&output, "x", 1), EPIPE);
    assert_false(is_pending(SIGPIPE));
    assert_int_equal(qmpi_output_close(&output), 0);
    close(ends[1]);
}

static void a_signal_of_the_program_stays_pending_and_blocked(void **state)
{
    struct qmpi_output_signals signals;
    sigset_t pipe_signal, before, after;
    (void)state;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigprocmask(SIG_BLOCK, &pipe_signal, &before);
    raise(SIGPIPE);
    qmpi_output_signals_block(&signals);
    raise(SIGXFSZ);
    qmpi_output_signals_restore(&signals);
    assert_true(is_pending(SIGPIPE));
    assert_false(is_pending(SIGXFSZ));
    sigprocmask(SIG_BLOCK, NULL, &after);
    assert_true(sigismember(&after, SIGPIPE));
    assert_false(sigismember(&after, SIGXFSZ));
    int taken;
    sigwait(&pipe_signal, &taken);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_limit_on_the_size_of_files_is_an_error_and_no_signal(void **state)
{
    struct qmpi_output output;
    struct rlimit before, limit;
    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 6;
    open_ours(&output);
    setrlimit(RLIMIT_FSIZE, &limit);
    const int error = qmpi_output_write(&output, "12345678", 8);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(error, EFBIG);
    assert_false(is_pending(SIGXFSZ));
    assert_int_equal(qmpi_output_close(&output), 0);
    assert_content(ours, "123456");
}

static void *read_all(void *data)
{
    const int descriptor = *(const int *)data;
    static char bytes[4096];
    size_t all = 0;
    ssize_t part;
    while ((part = read(descriptor, bytes, sizeof bytes)) > 0)
        all += (size_t)part;
    return (void *)all;
}

static void a_nonblocking_pipe_gets_everything(void **state)
{
    enum { SIZE = 1 << 20 };
    struct qmpi_output output;
    char path[32], *bytes = calloc(1, SIZE);
    pthread_t reader;
    void *all;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(qmpi_output_open(&output, path, O_NONBLOCK, 0), 0);
    close(ends[1]);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &ends[0]), 0);
    assert_int_equal(qmpi_output_write(&output, bytes, SIZE), 0);
    assert_int_equal(qmpi_output_close(&output), 0);
    pthread_join(reader, &all);
    assert_int_equal((size_t)all, SIZE);
    close(ends[0]);
    free(bytes);
}

/* ---- Streams --------------------------------------------------------------------------------- */

static void a_stream_writes_to_the_file_and_closes_it(void **state)
{
    struct qmpi_output output;
    (void)state;
    open_ours(&output);
    FILE *stream = qmpi_output_stream(&output);
    fprintf(stream, "%d\n", 1);
    assert_int_equal(fflush(stream), 0);
    const int mine = take_away(&output);
    fprintf(stream, "%d\n", 2);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(output.descriptor, -1);
    assert_int_equal(output.error, 0);
    close(mine);
    assert_content(ours, "1\n2\n");
    assert_content(theirs, "");
}

static void a_stream_keeps_the_error_of_a_failure(void **state)
{
    struct qmpi_output output;
    (void)state;
    assert_int_equal(qmpi_output_open(&output, "/dev/full", 0, 0), 0);
    FILE *stream = qmpi_output_stream(&output);
    fputs("text", stream);
    assert_int_equal(fclose(stream), EOF);
    assert_int_equal(output.error, ENOSPC);
}

/* ---- stderr ---------------------------------------------------------------------------------- */

/* Calls a function in a child whose stderr is a pipe. Returns the text that arrives. */
static const char *stderr_of(void (*run)(void))
{
    static char text[256];
    int ends[2], status;
    size_t length = 0;
    ssize_t part;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        run();
        _exit(0);
    }
    close(ends[1]);
    while ((part = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)part;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return text;
}

static void say(const char *text)
{
    qmpi_output_standard_write(STDERR_FILENO, text, strlen(text));
}

static void replace_stderr(void)
{
    close(STDERR_FILENO);
    if (open(theirs, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) != STDERR_FILENO)
        _exit(1);
}

static void replace_noted(void)
{
    qmpi_output_standard_note(false);
    say("one\n");
    replace_stderr();
    say("two\n");
}

static void replace_duplicated(void)
{
    qmpi_output_standard_note(true);
    say("one\n");
    replace_stderr();
    say("two\n");
}

static void use_number_of_closed(void)
{
    close(STDERR_FILENO);
    qmpi_output_standard_note(true);
    if (open(theirs, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) != STDERR_FILENO)
        _exit(1);
    say("text\n");
}

static int lifeline[2]; /* The child of detach() ends when the test closes this pipe. */

/* Forks a child that continues after this process has ended and that replaces its stderr, a pipe.
 * The second descriptor of stderr must not hold the pipe open in the child. */
static void detach(void)
{
    char byte;
    close(lifeline[1]);
    qmpi_output_standard_note(true);
    if (fork())
        return;
    replace_stderr();
    say("text\n");
    (void)!read(lifeline[0], &byte, 1);
}

static void a_file_of_the_program_with_descriptor_2_is_not_written_to(void **state)
{
    (void)state;
    assert_string_equal(stderr_of(replace_noted), "one\n");
    assert_content(theirs, "");
    assert_string_equal(stderr_of(use_number_of_closed), "");
    assert_content(theirs, "");
}

static void a_duplicated_stderr_is_reached_after_the_program_has_replaced_stderr(void **state)
{
    (void)state;
    assert_string_equal(stderr_of(replace_duplicated), "one\ntwo\n");
    assert_content(theirs, "");
}

static void a_child_that_detaches_itself_does_not_hold_stderr_open(void **state)
{
    (void)state;
    assert_int_equal(pipe(lifeline), 0);
    assert_string_equal(stderr_of(detach), ""); /* waits forever if the child holds stderr open */
    close(lifeline[0]);
    close(lifeline[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_file_has_a_high_descriptor_that_exec_closes, remove_files),
        cmocka_unit_test_teardown(
            further_text_is_appended_after_the_program_has_closed_the_descriptor, remove_files),
        cmocka_unit_test_teardown(
            a_file_of_the_program_that_took_the_descriptor_is_not_changed_or_closed, remove_files),
        cmocka_unit_test_teardown(a_deleted_or_replaced_file_is_an_error, remove_files),
        cmocka_unit_test_teardown(a_renamed_file_is_opened_again_by_its_new_path, remove_files),
        cmocka_unit_test_teardown(a_file_is_opened_beyond_the_soft_limit_on_descriptors,
                                  remove_files),
        cmocka_unit_test_teardown(without_any_descriptor_there_is_an_error, remove_files),
        cmocka_unit_test(a_full_device_is_an_error),
        cmocka_unit_test(a_pipe_without_a_reader_is_an_error_and_no_signal),
        cmocka_unit_test(a_signal_of_the_program_stays_pending_and_blocked),
        cmocka_unit_test_teardown(a_limit_on_the_size_of_files_is_an_error_and_no_signal,
                                  remove_files),
        cmocka_unit_test(a_nonblocking_pipe_gets_everything),
        cmocka_unit_test_teardown(a_stream_writes_to_the_file_and_closes_it, remove_files),
        cmocka_unit_test(a_stream_keeps_the_error_of_a_failure),
        cmocka_unit_test_teardown(a_file_of_the_program_with_descriptor_2_is_not_written_to,
                                  remove_files),
        cmocka_unit_test_teardown(
            a_duplicated_stderr_is_reached_after_the_program_has_replaced_stderr, remove_files),
        cmocka_unit_test_teardown(a_child_that_detaches_itself_does_not_hold_stderr_open,
                                  remove_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
