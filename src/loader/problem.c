/* SPDX-License-Identifier: MIT */
/* See problem.h. */
#define _GNU_SOURCE
#include "loader/problem.h"

#include "config/config.h"
#include "job/job.h"
#include "util/util.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *middle = "QMPI_TOOLS";

void qmpi_problem_name_middle(const char *source)
{
    middle = source;
}

void qmpi_problem_start(void)
{
    const char *value = qmpi_getenv("QMPI_ON_ERROR");
    if (value && strcmp(value, "skip") != 0 && strcmp(value, "stop") != 0 &&
        qmpi_launcher_reports()) {
        char *shown = qmpi_message_shorten(value);
        qmpi_printf("QMPI_ON_ERROR: unknown value '%s'; using stop\n  hint: set it to stop or skip",
                    shown);
        free(shown);
    }
}

/* Returns a problem with all lines but the first indented, so that users can see where each of many
 * messages begins. The caller frees it. */
static char *indent_lines(const char *problem)
{
    char *text = qmpi_allocate(3 * strlen(problem) + 1, 1), *to = text;
    for (const char *from = problem; *from; from++) {
        *to++ = *from;
        if (*from == '\n' && from[1] && from[1] != ' ')
            to = stpcpy(to, "  ");
    }
    return text;
}

static char *stop_message; /* the message that ends the run; NULL: none */
static bool is_deferred;   /* a problem that stops the run does so only in MPI_Init */
static bool has_stopped;   /* further problems are ignored */

/* Prints a problem if this process reports, adds it to the statement of this process, and frees it.
 * Unless errors are skipped, the problem will stop the run. If an earlier problem has stopped the
 * run, only frees this one. */
static void print_problem(const char *where, char *problem, const char *without,
                          enum qmpi_tool_on_error on_error)
{
    if (has_stopped) {
        free(problem);
        return;
    }
    const bool skip = qmpi_settings_skip_errors(on_error);
    const char *setting =
        on_error == QMPI_ON_ERROR_AS_SET ? "QMPI_ON_ERROR=skip" : "on-error = skip";
    char *text = indent_lines(problem), *rest = qmpi_copy("");
    if (skip) {
        free(rest);
        rest = qmpi_message("\n  the run continues without %s (%s)", without, setting);
    }
    char *message = qmpi_message("%s: %-s%-s", where, text, rest);
    if (qmpi_launcher_reports())
        qmpi_print(message);
    qmpi_statement_add_problem(message);
    free(text);
    free(rest);
    free(problem);
    if (skip || stop_message)
        free(message);
    else
        stop_message = message;
}

void qmpi_problem_defer(bool to_init)
{
    is_deferred = to_init;
}

bool qmpi_problem_is_stopping(void)
{
    return stop_message != NULL;
}

/* Stops the run now. Each line of the text but the first gets the prefix `qmpi: `, as
 * qmpi_launcher_stop expects. */
_Noreturn void qmpi_problem_stop_now(void)
{
    char *text = qmpi_copy("");
    for (const char *line = stop_message ? stop_message : ""; *line;) {
        const int length = (int)strcspn(line, "\n");
        char *more = qmpi_format("%s%s%.*s\n", text, *text ? "qmpi: " : "", length, line);
        free(text);
        text = more;
        line += length + (line[length] == '\n');
    }
    qmpi_launcher_stop(text); /* not exit, because exit handlers of tools that are not initialized
                                 must not run */
}

void qmpi_problem_stop(void)
{
    has_stopped = stop_message != NULL;
    if (has_stopped && !is_deferred)
        qmpi_problem_stop_now();
}

void qmpi_problem_report(const char *where, char *problem, const char *without)
{
    print_problem(where, problem, without, QMPI_ON_ERROR_AS_SET);
    qmpi_problem_stop();
}

static void print_file(const struct qmpi_config_file *file)
{
    if (file->unreadable)
        print_problem(qmpi_settings_origin(file), qmpi_copy(file->unreadable), "it",
                      qmpi_settings_on_error_in(file, QMPI_SECTION_MIDDLE));
    for (int i = 0; i < file->config.problem_count; i++) {
        const struct qmpi_config_problem *wrong = &file->config.problems[i];
        char *shown = qmpi_message_shorten(wrong->text);
        char *where = wrong->line ? qmpi_message("%s, line %d '%s'", file->path, wrong->line, shown)
                                  : qmpi_copy(file->path);
        print_problem(where, qmpi_copy(wrong->problem), wrong->without,
                      qmpi_settings_on_error_in(file, wrong->section));
        free(where);
        free(shown);
    }
}

void qmpi_problem_print_config(void)
{
    int count;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    for (int i = 0; i < count; i++)
        print_file(&files[i]);
}

void qmpi_problem_print_notes(const struct qmpi_stack *stack)
{
    /* A command that tries a stack prints the notes itself. */
    const bool wanted = !qmpi_getenv("QMPI_TRIAL") && qmpi_launcher_reports();
    for (const char *line = stack->notes; wanted && *line;) {
        const size_t length = strcspn(line, "\n");
        qmpi_printf("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

char *qmpi_problem_where(const struct qmpi_tool_entry *entry)
{
    const char *source = entry->source ? entry->source : middle;
    char *shown = qmpi_message_shorten(entry->text);
    char *where = entry->line ? qmpi_message("%s, line %d '%s'", source, entry->line, shown)
                  : entry->position
                      ? qmpi_message("%s, entry %d '%s'", source, entry->position, shown)
                      : qmpi_message("'%s', which is not in %s", shown, source);
    free(shown);
    return where;
}

/* Whether a problem of the layer is ignored. A problem of the entry itself is always an error. */
static bool is_optional(const struct qmpi_tool_entry *entry)
{
    const char *value = entry->reserved[QMPI_RESERVED_OPTIONAL];
    return value && !strcmp(value, "yes") && !entry->problem;
}

static void print_left_out(const char *where, const char *problem, const char *consequence)
{
    char *text = indent_lines(problem);
    qmpi_printf("%s: %-s\n  %s", where, text, consequence);
    free(text);
}

/* Prints a problem of an optional layer for `qmpi check` and QMPI_DEBUG only. */
static void print_optional(const char *where, const char *problem)
{
    qmpi_debug(QMPI_TOPIC_LOAD, "%s: %.*s; the layer is left out (@optional=yes)", where,
               (int)strcspn(problem, "\n"), problem);
    if (qmpi_getenv("QMPI_CHECK") && !qmpi_getenv("QMPI_TRIAL"))
        print_left_out(where, problem, "the layer is left out (@optional=yes)");
}

void qmpi_problem_report_stack(const struct qmpi_stack *stack, char *problem)
{
    const struct qmpi_tool_list *layers = &stack->tools;
    const struct qmpi_tool_entry *stopping_entry = NULL;
    for (int i = 0; i < layers->count && !stopping_entry; i++) {
        const struct qmpi_tool_entry *entry = &layers->entries[i];
        if (!is_optional(entry) && !qmpi_settings_skip_errors(entry->on_error))
            stopping_entry = entry;
    }
    const struct qmpi_tool_entry *entry = stopping_entry ? stopping_entry : &layers->entries[0];
    print_problem(entry->source ? entry->source : stack->source, problem, "tools",
                  stopping_entry || entry->on_error == QMPI_ON_ERROR_AS_SET ? entry->on_error
                                                                            : QMPI_ON_ERROR_SKIP);
    qmpi_problem_stop();
}

void qmpi_problem_print_entry(const struct qmpi_tool_entry *entry, char *problem)
{
    char *where = qmpi_problem_where(entry);
    if (entry->position && !is_optional(entry)) {
        print_problem(where, problem, "this layer", entry->on_error);
    } else {
        /* A preloaded library that is not listed does not end the run, because without libqmpi it
         * would not, either. */
        if (entry->position)
            print_optional(where, problem);
        else if (qmpi_launcher_reports())
            print_left_out(where, problem, "the run continues without this layer");
        free(problem);
    }
    free(where);
}

void qmpi_problem_print_heading(const struct qmpi_tool_entry *entry, char *problem)
{
    char *where =
        qmpi_message("%s, line %d '[stack %s]'", entry->source, entry->stack_line, entry->stack);
    print_problem(where, problem, "this stack", entry->on_error);
    free(where);
}

void qmpi_problem_report_entry(const struct qmpi_tool_entry *entry, char *problem)
{
    qmpi_problem_print_entry(entry, problem);
    qmpi_problem_stop();
}

/* ---- Signals --------------------------------------------------------------------------------- */

/* With AddressSanitizer, no handlers are installed, because the sanitizer prints more about a
 * fault. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* GCC defines this macro itself */
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"},
               {SIGBUS, "SIGBUS"},
               {SIGILL, "SIGILL"},
               {SIGFPE, "SIGFPE"},
               {SIGABRT, "SIGABRT"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static bool is_guarding, is_reporting;
static pthread_t loading_thread;
/* The two parts of a message are created beforehand, because a handler cannot allocate memory. */
static char *entry_part; /* identifies the entry; NULL: no layer is being loaded */
static char *signal_parts[SIGNALS];
static struct sigaction previous[SIGNALS];

/* Writes the message, in one piece if it is not very long. Failures are ignored. */
static void write_signal_message(int signal_index)
{
    static char message[2048];
    const char *const parts[] = {"qmpi: ", entry_part, signal_parts[signal_index]};
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const char *at = parts[i]; *at; at++) {
            if (used == sizeof message) {
                qmpi_output_standard_write(STDERR_FILENO, message, used);
                used = 0;
            }
            message[used++] = *at;
        }
    }
    qmpi_output_standard_write(STDERR_FILENO, message, used);
}

/* Returns the message without the prefix `qmpi: `, cut off if it is very long. */
static const char *join_signal_message(int signal_index)
{
    static char message[4096];
    const size_t length = strlen(entry_part), room = sizeof message - 1;
    size_t used = length < room ? length : room;
    memcpy(message, entry_part, used);
    const size_t more = strlen(signal_parts[signal_index]);
    memcpy(message + used, signal_parts[signal_index], more < room - used ? more : room - used);
    return message;
}

static void handle_signal(int number)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (is_guarding && pthread_equal(pthread_self(), loading_thread)) {
            if (is_reporting && entry_part)
                write_signal_message(i);
            qmpi_launcher_stop(entry_part ? join_signal_message(i) : signal_parts[i]);
        }
        /* In another thread, restores the previous action of the signal. A faulting instruction
         * raises the signal again when the handler returns; SIGABRT must be raised here.
         */
        sigaction(number, &previous[i], NULL);
        if (number == SIGABRT)
            raise(number);
    }
}

void qmpi_problem_catch_signals(void)
{
    if (sanitized || is_guarding || qmpi_message_debugs(QMPI_TOPIC_LOAD))
        return;
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    loading_thread = pthread_self();
    is_reporting = qmpi_launcher_reports();
    for (int i = 0; i < SIGNALS; i++)
        signal_parts[i] = qmpi_message(": terminated by %s while it was loaded or initialized\n"
                                       "qmpi:   hint: rebuild or reinstall it; QMPI_DEBUG=load "
                                       "leaves the signal to a debugger\n",
                                       signals[i].name);
    is_guarding = true;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i].number, &action, &previous[i]);
}

void qmpi_problem_set_loading(const struct qmpi_tool_entry *entry)
{
    if (!is_guarding)
        return;
    char *previous_part = entry_part;
    entry_part = qmpi_problem_where(entry);
    free(previous_part);
}

void qmpi_problem_release_signals(void)
{
    struct sigaction now;
    for (int i = 0; is_guarding && i < SIGNALS; i++) {
        if (sigaction(signals[i].number, NULL, &now) == 0 && now.sa_handler == handle_signal)
            sigaction(signals[i].number, &previous[i], NULL);
    }
    is_guarding = false;
    for (int i = 0; i < SIGNALS; i++) {
        free(signal_parts[i]);
        signal_parts[i] = NULL;
    }
    free(entry_part);
    entry_part = NULL;
}
