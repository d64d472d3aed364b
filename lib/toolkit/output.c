/* SPDX-License-Identifier: MIT */
/* See output.h. */
#define _GNU_SOURCE
#include "toolkit/output.h"

#include "toolkit/run.h"
#include "util/util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Names from patterns --------------------------------------------------------------------- */

/* This is 0 until tool_output_name_start is called. Until then, %p is the id of the calling
 * process. */
static pid_t named_process;

void tool_output_name_start(void)
{
    named_process = getpid();
    tool_run_find();
}

/* Replaces each slash, because a part of a name must not refer to another directory. */
static void put_word(FILE *stream, const char *word)
{
    for (; *word; word++)
        fputc(*word == '/' ? '_' : *word, stream);
}

static void put_date(FILE *stream)
{
    char date[32] = "";
    struct tm parts;
    if (localtime_r(&tool_run_begin()->tv_sec, &parts))
        strftime(date, sizeof date, "%Y-%m-%d", &parts);
    fputs(date, stream);
}

static void put_conversion(FILE *stream, char conversion, int tool_id, int rank)
{
    char host[256] = "";
    const char *job;
    switch (conversion) {
    case 'r':
        fprintf(stream, "%d", rank);
        break;
    case 'p':
        fprintf(stream, "%ld", (long)(named_process ? named_process : getpid()));
        break;
    case 't':
        fprintf(stream, "%d", tool_id);
        break;
    case 'h':
        gethostname(host, sizeof host - 1);
        fputs(host, stream);
        break;
    case 'x':
        put_word(stream, tool_run_program());
        break;
    case 'j':
        job = tool_run_batch_step();
        put_word(stream, job ? job : "0");
        break;
    case 'u':
        put_word(stream, tool_run_user());
        break;
    case 'd':
        put_date(stream);
        break;
    default:
        fputc(conversion, stream); /* a percent or dollar sign */
    }
}

/* Writes the value of the variable in `${NAME}`, with which `text` begins. Slashes are not
 * replaced, because the value may be a path. Returns the length of `${NAME}`, or 0 if NAME is not a
 * name, or the variable is unset or empty. */
static size_t put_variable(FILE *stream, const char *text)
{
    char name[256];
    const char *const begin = text + 2, *end = begin;
    while (*end == '_' || isalpha((unsigned char)*end) ||
           (end > begin && isdigit((unsigned char)*end)))
        end++;
    const size_t length = (size_t)(end - begin);
    if (*end != '}' || !length || length >= sizeof name)
        return 0;
    memcpy(name, begin, length);
    name[length] = '\0';
    const char *value = secure_getenv(name);
    if (!value || !*value)
        return 0;
    fputs(value, stream);
    return length + 3;
}

char *tool_output_name(const char *pattern, int tool_id, int rank)
{
    char *name = NULL;
    size_t length;
    FILE *stream = open_memstream(&name, &length);
    if (!stream)
        return NULL;
    tool_run_find();
    bool good = true;
    while (*pattern && good) {
        size_t used = 1;
        if (*pattern == '%') {
            used = 2;
            good = pattern[1] && strchr("rpthxjud%$", pattern[1]);
            if (good)
                put_conversion(stream, pattern[1], tool_id, rank);
        } else if (pattern[0] == '$' && pattern[1] == '{') {
            used = put_variable(stream, pattern);
            good = used > 0;
        } else {
            fputc(*pattern, stream);
        }
        pattern += used;
    }
    if (fclose(stream) || !good) {
        free(name);
        return NULL;
    }
    return name;
}

static bool has_placeholder(const char *pattern, char placeholder)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%' && pattern[1] && *++pattern == placeholder)
            return true;
    }
    return false;
}

bool tool_output_name_is_per_process(const char *pattern)
{
    return has_placeholder(pattern, 'r') || has_placeholder(pattern, 'p');
}

/* Returns whether the text after a dot consists of letters and digits, beginning with a letter.
 * Other texts are not a suffix, because a host name or a version may also contain a dot. */
static bool is_suffix(const char *text)
{
    if (!isalpha((unsigned char)*text))
        return false;
    while (isalnum((unsigned char)*text))
        text++;
    return !*text;
}

size_t tool_output_name_suffix(const char *pattern)
{
    const size_t length = strlen(pattern);
    size_t first = 0, dot = length; /* The last component begins at `first`. */
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] == '/') {
            first = i + 1;
            dot = length;
        } else if (pattern[i] == '%' && i + 1 < length) {
            i++;
            dot = length;
        } else if (pattern[i] == '.' && i > first) {
            dot = i;
        }
    }
    return dot < length && is_suffix(pattern + dot + 1) ? dot : length;
}

bool tool_output_name_is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

enum { NUMBERS = 100000, DIGITS = 16 };

/* ---- Names with numbers ---------------------------------------------------------------------- */

/* Splits a pattern where the number is inserted, and expands both sides. */
static bool expand_both_sides(const char *pattern, size_t place, int tool_id, int rank, char **head,
                              char **tail)
{
    char *first = strndup(pattern, place);
    *head = first ? tool_output_name(first, tool_id, rank) : NULL;
    *tail = tool_output_name(pattern + place, tool_id, rank);
    free(first);
    return *head && *tail;
}

/* Returns the pattern of the file, and sets `place` to the index at which the number is inserted.
 * The caller frees the pattern. Returns NULL if memory is exhausted. */
static char *make_pattern(const struct tool_output_names *names, size_t *place)
{
    const char *pattern = names->pattern;
    const char *rank = "";
    if (names->has_no_rank)
        rank = has_placeholder(pattern, 'p') ? "" : ".pid-%p";
    else if (names->is_of_process && !tool_output_name_is_per_process(pattern))
        rank = ".%r";
    char *all;
    *place = tool_output_name_suffix(pattern);
    if (asprintf(&all, "%.*s%s%s%s%s", (int)*place, pattern, rank, names->part ? "." : "",
                 names->part ? names->part : "", pattern + *place) < 0)
        return NULL;
    return all;
}

static bool find_special(struct tool_output *output, const struct tool_output_names *names)
{
    char *name = tool_output_name(names->pattern, names->tool_id, names->rank);
    output->is_special = !names->is_directory && name && tool_output_name_is_special(name);
    if (output->is_special) {
        output->head = name;
        output->tail = strdup("");
        return output->tail != NULL;
    }
    free(name);
    return true;
}

static bool make_names(struct tool_output *output, const struct tool_output_names *names)
{
    size_t place;
    char *pattern = make_pattern(names, &place);
    bool good = pattern && expand_both_sides(pattern, place, names->tool_id, names->rank,
                                             &output->head, &output->tail);
    if (good && names->is_of_process && names->rank && !names->has_no_rank)
        good = expand_both_sides(pattern, place, names->tool_id, 0, &output->first_head,
                                 &output->first_tail);
    free(pattern);
    return good;
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Allocates the buffer for each path, because signal handlers cannot allocate it. */
static bool make_room(struct tool_output *output)
{
    const size_t mine = length_of(output->head) + length_of(output->tail);
    const size_t first = length_of(output->first_head) + length_of(output->first_tail);
    output->room = length_of(output->folder) + (mine > first ? mine : first) + DIGITS;
    output->path = malloc(output->room);
    return output->path != NULL;
}

bool tool_output_make(struct tool_output *output, const struct tool_output_names *names)
{
    tool_run_find();
    *output = (struct tool_output){
        .tool_id = names->tool_id, .rank = names->rank, .is_absolute = names->is_absolute};
    output->folder = names->folder ? strdup(names->folder) : NULL;
    if ((!names->folder || output->folder) && find_special(output, names) &&
        (output->is_special || make_names(output, names)) && make_room(output))
        return true;
    tool_output_clear(output);
    return false;
}

void tool_output_clear(struct tool_output *output)
{
    free(output->head);
    free(output->tail);
    free(output->first_head);
    free(output->first_tail);
    free(output->folder);
    free(output->path);
    *output = (struct tool_output){.number = 0};
}

/* ---- Paths, also in signal handlers ---------------------------------------------------------- */

static char *append_text(char *at, const char *text)
{
    return stpcpy(at, text ? text : "");
}

static char *append_number(char *at, int number)
{
    char digits[DIGITS], *first = digits + sizeof digits - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    return append_text(at, first);
}

/* Returns whether the path must contain the folder, for instance because the program has changed
 * the current directory. */
static bool needs_folder(const struct tool_output *output, const char *head)
{
    struct stat here, there;
    if (!output->folder || *head == '/')
        return false;
    return output->is_absolute || stat(".", &here) || stat(output->folder, &there) ||
           here.st_dev != there.st_dev || here.st_ino != there.st_ino;
}

static const char *make_path(struct tool_output *output, int number, bool is_first_rank)
{
    const bool is_other = is_first_rank && output->first_head;
    const char *head = is_other ? output->first_head : output->head;
    char *at = output->path;
    if (needs_folder(output, head))
        at = append_text(append_text(at, output->folder), "/");
    at = append_text(at, head);
    if (number > 1)
        at = append_number(append_text(at, "."), number);
    append_text(at, is_other ? output->first_tail : output->tail);
    return output->path;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool is_later(const struct timespec *time, const struct timespec *other)
{
    return time->tv_sec > other->tv_sec ||
           (time->tv_sec == other->tv_sec && time->tv_nsec > other->tv_nsec);
}

bool tool_output_is_of_run(const struct timespec *time)
{
    return is_later(time, tool_run_begin());
}

bool tool_output_is_complete(const struct timespec *time)
{
    return tool_output_is_of_run(time) && !is_later(time, tool_run_program_begin());
}

enum state {
    ABSENT,
    EARLIER, /* The file belongs to an earlier run, or is empty and was made for this process. */
    TAKEN,   /* The file belongs to another program of this run. */
    OTHER    /* The file is not regular, or it cannot be examined. */
};

/* An empty file that existed before this process began was made for this process, for instance by
 * mktemp. A newer one will be written by the process that has created it. */
static enum state examine(const char *path, struct stat *status)
{
    if (stat(path, status))
        return errno == ENOENT ? ABSENT : OTHER;
    if (!S_ISREG(status->st_mode))
        return OTHER;
    if (!tool_output_is_of_run(&status->st_mtim) ||
        (!status->st_size && !is_later(&status->st_mtim, tool_run_process_begin())))
        return EARLIER;
    return TAKEN;
}

static bool is_complete(const char *path)
{
    struct stat status;
    return examine(path, &status) == TAKEN && tool_output_is_complete(&status.st_mtim);
}

static bool lock(int descriptor)
{
    const struct timespec pause = {0, 1000000};
    for (int tries = 0; tries < 100; tries++) {
        if (!flock(descriptor, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
            return true; /* This includes file systems that have no locks. */
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Claims a file of an earlier run by changing its time, because two programs that begin at the same
 * time must not both replace it. Returns false if another program was first. */
static bool take_over(const char *path)
{
    struct stat status, opened;
    const int descriptor = qmpi_output_open_descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (descriptor < 0)
        return true; /* The caller will get the same error when it writes, and will report it. */
    bool good = lock(descriptor);
    if (good && !fstat(descriptor, &opened)) {
        good = examine(path, &status) == EARLIER && status.st_dev == opened.st_dev &&
               status.st_ino == opened.st_ino;
        if (good)
            (void)!futimens(descriptor, NULL);
    }
    close(descriptor);
    return good;
}

/* Creates an empty file. Returns false if another process has created it first. */
static bool create(const char *path)
{
    struct stat status;
    const int descriptor =
        qmpi_output_open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0666);
    if (descriptor >= 0)
        close(descriptor);
    /* The name is also free if it is a symbolic link to a file that does not exist. */
    return descriptor >= 0 || errno != EEXIST || stat(path, &status);
}

static bool take_file(const char *path, bool creates)
{
    struct stat status;
    switch (examine(path, &status)) {
    case ABSENT:
        return !creates || create(path);
    case EARLIER:
        return take_over(path);
    case TAKEN:
        return false;
    default:
        return true;
    }
}

/* ---- Claiming a name ------------------------------------------------------------------------- */

/* Returns the number that all ranks of a program choose, unless another program of the run writes
 * at the same time. On rank 0, and if not every process writes a file, returns 1, from which
 * tool_output_claim goes on. */
static int find_expected(struct tool_output *output)
{
    int number = 1;
    while (output->first_head && number < NUMBERS) {
        const bool first = is_complete(make_path(output, number, true));
        const bool mine = is_complete(make_path(output, number, false));
        if (output->is_early ? !(first && mine) : !(first || mine))
            break;
        number++;
    }
    return number;
}

const char *tool_output_path(struct tool_output *output)
{
    return make_path(output, 1, false);
}

const char *tool_output_claim(struct tool_output *output, bool creates)
{
    if (!output->path)
        return NULL;
    if (output->is_special || output->is_claimed)
        return make_path(output, output->number, false);
    if (!output->expected)
        output->number = output->expected = find_expected(output);
    while (output->number < NUMBERS &&
           !take_file(make_path(output, output->number, false), creates))
        output->number++;
    output->is_claimed = true;
    return output->path;
}

const char *tool_output_next(struct tool_output *output)
{
    output->number = output->number > 1 ? output->number + 1 : 2;
    return make_path(output, output->number, false);
}

void tool_output_pass(struct tool_output *output)
{
    output->is_claimed = false;
}

void tool_output_report(struct tool_output *output, const char *tool)
{
    if (output->is_said || output->number < 2 ||
        (output->rank && output->number == output->expected))
        return;
    output->is_said = true;
    char *path = qmpi_copy(make_path(output, output->number, false));
    qmpi_printf(
        "%s (layer %d): another program has written %s during this run; %s writes %s\n"
        "  hint: put %%x (the name of the program) or %%p (the process id) into the name of "
        "the file",
        tool, output->tool_id, make_path(output, 1, false), tool_run_program(), path);
    make_path(output, output->number, false);
    free(path);
}

/* ---- Renaming -------------------------------------------------------------------------------- */

int tool_output_rename(const char *from, const char *to, bool is_new)
{
    if (is_new) {
        if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
            return 0;
        if (errno == EEXIST)
            return EEXIST;
        /* The file system may not support RENAME_NOREPLACE. */
        if (!link(from, to))
            return unlink(from) ? errno : 0;
        if (errno == EEXIST)
            return EEXIST;
    }
    return rename(from, to) ? errno : 0;
}
