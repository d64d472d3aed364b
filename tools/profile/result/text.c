/* SPDX-License-Identifier: MIT */
/*
 * See profile.h: text. This file prints the head of the text with the findings, the efficiency, and
 * the call sites; text_tables.c has all other tables.
 */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"

#include "tools/profile/result/columns.h"
#include "tools/profile/result/finder.h"
#include "tools/profile/result/text_tables.h"
#include "tools/profile/result/units.h"
#include "util/util.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- Findings -------------------------------------------------------------------------------- */

/* Prints words in lines of the width, each of which begins with `indent` spaces. */
static void print_wrapped(const struct text *text, const char *words, int indent)
{
    while (*words) {
        const size_t length = text_fit_words(words, text->width - indent);
        fprintf(text->stream, "%*s%.*s\n", indent, "", (int)length, words);
        words += length;
        words += strspn(words, " ");
    }
}

/* Uses a table, because tables replace control characters, which names of files and functions may
 * contain. */
static bool print_summary(const struct text *text, const struct profile_finding *finding)
{
    struct columns lines;
    columns_start(&lines, "l");
    text_add_wrapped(&lines, profile_finding_text(finding), text->width, "");
    return columns_print(&lines, text->stream, text->width);
}

static void print_no_findings(const struct text *text)
{
    char reason[PROFILE_NONE_SIZE], words[sizeof reason + sizeof "Findings: "];
    snprintf(words, sizeof words, "Findings: %s",
             profile_findings_describe_none(text->result, reason, sizeof reason));
    fputc('\n', text->stream);
    print_wrapped(text, words, 0);
}

static void print_gap(const struct text *text)
{
    char words[160];
    if (profile_findings_describe_gap(text->result, true, words, sizeof words))
        print_wrapped(text, words, 0);
}

static bool print_findings(const struct text *text)
{
    enum { INDENT = 2 };
    struct profile_findings findings;
    bool good = true;
    if (!profile_findings_find(text->result, &findings))
        return true;
    if (!findings.count)
        print_no_findings(text);
    else
        fprintf(text->stream, "\nFindings, most time first (%% of the elapsed time, %s)\n",
                units_time(text->result->application.max));
    for (int i = 0; i < findings.count && good; i++) {
        good = print_summary(text, &findings.all[i]);
        print_wrapped(text, findings.all[i].meaning, INDENT);
        print_wrapped(text, findings.all[i].advice, INDENT);
    }
    if (findings.count)
        print_gap(text);
    return good;
}

/* ---- Loss budget ----------------------------------------------------------------------------- */

enum { NAMED_MOST = 1 }; /* the smallest percentage that is worth a row */

static bool is_small_part(const struct profile_budget_item *item)
{
    return 100 * item->share < NAMED_MOST;
}

static void add_budget_row(struct columns *columns, const char *words, double share, double seconds,
                           const struct profile_budget_place *place)
{
    char where[128];
    columns_add(columns, "%s", words);
    columns_add(columns, "%.1f", 100 * share);
    columns_add(columns, "%s", units_time(seconds));
    if (place && place->site) {
        finder_describe_place(place->site, where, sizeof where);
        columns_add(columns, "%s at %s", place->name, where);
    } else {
        columns_add(columns, "%s", place ? place->name : "");
    }
}

static bool print_budget(const struct text *text)
{
    static const char *const headings[] = {"", "%", "all ranks", "most at", NULL};
    struct profile_budget budget;
    enum profile_budget_part order[PROFILE_BUDGET_PARTS];
    struct columns columns;
    double rest = 0;
    if (!profile_budget_find(text->result, &budget))
        return true;
    profile_budget_order(&budget, order);
    fprintf(text->stream, "\nWhere the time of all ranks went: %zu * %s = %s\n",
            text->result->process_count, units_time(text->result->application.max),
            units_time(budget.total));
    columns_start(&columns, "lrrl");
    columns_set_optional(&columns, "...1");
    columns_add_all(&columns, headings);
    for (int i = 0; i < PROFILE_BUDGET_PARTS; i++) {
        const struct profile_budget_item *item = &budget.items[order[i]];
        if (i && is_small_part(item))
            rest += item->seconds;
        else
            add_budget_row(&columns, profile_budget_describe(order[i]), item->share, item->seconds,
                           item->place_count ? &item->places[0] : NULL);
    }
    if (rest > 0)
        add_budget_row(&columns, "others, less than 1 % each", rest / budget.total, rest, NULL);
    return columns_print(&columns, text->stream, text->width);
}

/* ---- Head ------------------------------------------------------------------------------------ */

/* Explains why a result is not of all ranks. */
static const char *describe_termination(const char *termination)
{
    if (profile_result_is_separate(termination))
        return "each process reported separately: ";
    return strcmp(termination, "checkpoint") ? "without MPI_Finalize: " : "not yet: ";
}

static void add_program_lines(struct columns *lines, const struct profile_result *result)
{
    const char **programs;
    const size_t count = profile_programs_list(result, &programs);
    lines->good = lines->good && count;
    for (size_t i = 0; i < count; i++) {
        char *ranks = count > 1 ? profile_programs_ranks(result, programs[i]) : NULL;
        columns_add_line(lines, "program  %s%s%s%s", programs[i], ranks ? " (" : "",
                         ranks ? ranks : "", ranks ? ")" : "");
        free(ranks);
    }
    free(programs);
}

/* Adds a line that begins with `heading` and lists `count` items, as many as the width has room
 * for. `put` prints one of them. */
static void add_list_line(struct columns *lines, const struct text *text, const char *heading,
                          size_t count, const void *items,
                          void (*put)(FILE *stream, const void *items, size_t item))
{
    enum { MORE = 16 }; /* ", and 1000 more" */
    const size_t room = (size_t)text->width - strlen(heading);
    char *words = NULL;
    size_t length = 0, used = 0, shown = 0;
    FILE *stream = open_memstream(&words, &length);
    for (; stream && shown < count; shown++) {
        fputs(shown ? ", " : "", stream);
        put(stream, items, shown);
        fflush(stream);
        if (shown && length + (shown + 1 < count ? MORE : 0) > room)
            break;
        used = length;
    }
    if (!stream || fclose(stream) || !words)
        lines->good = false;
    else if (shown < count)
        columns_add_line(lines, "%s%.*s, and %zu more", heading, (int)used, words, count - shown);
    else
        columns_add_line(lines, "%s%s", heading, words);
    free(words);
}

static void put_host(FILE *stream, const void *items, size_t item)
{
    fputs(((const struct profile_host *)items)[item].name, stream);
}

static void put_variable(FILE *stream, const void *items, size_t item)
{
    const struct profile_variable *variable = (const struct profile_variable *)items + item;
    fprintf(stream, "%s=%s", variable->name, variable->value);
}

/* Adds where the program ran, and with which settings. */
static void add_place_lines(struct columns *lines, const struct text *text)
{
    const struct profile_result *result = text->result;
    struct profile_host *hosts;
    const size_t count = profile_hosts_list(result, &hosts);
    if (result->batch_job)
        columns_add_line(lines, "job      %s", result->batch_job);
    if (count > 1)
        add_list_line(lines, text, "nodes    ", count, hosts, put_host);
    if (result->variable_count)
        add_list_line(lines, text, "settings ", result->variable_count, result->environment,
                      put_variable);
    free(hosts);
}

/* Prints the ranks and programs that the result describes. */
static bool print_subject(const struct text *text)
{
    const struct profile_result *result = text->result;
    struct columns lines;
    columns_start(&lines, "l");
    if (result->rank >= 0)
        columns_add_line(&lines, "profile (layer %d): rank %d alone", result->tool_id,
                         result->rank);
    else
        columns_add_line(&lines, "profile (layer %d): %d rank%s", result->tool_id, result->ranks,
                         result->ranks == 1 ? "" : "s");
    add_program_lines(&lines, result);
    if (result->command)
        columns_add_line(&lines, "command  %.*s", text->width - 9, result->command);
    columns_add_line(&lines, "started  %s%s%s", result->begin ? result->begin : "",
                     result->user ? " by user " : "", result->user ? result->user : "");
    columns_add_line(&lines, "MPI      %.*s", text->width - 9, result->mpi ? result->mpi : "");
    add_place_lines(&lines, text);
    if (result->termination)
        columns_add_line(&lines, "ended    %s%s", describe_termination(result->termination),
                         result->termination);
    return columns_print(&lines, text->stream, text->width);
}

static void add_spread_row(struct columns *columns, const struct text *text, const char *name,
                           const struct profile_spread *spread)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%s", units_time(spread->sum));
    text_add_share(columns, text, spread->sum);
    columns_add(columns, "%s", units_time(spread->mean));
    text_add_extremes(columns, spread);
    columns_add(columns, "%s", units_time(spread->stddev));
}

static double most_memory(const struct profile_result *result)
{
    double most = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const double memory = (double)result->processes[i].memory;
        most = memory > most ? memory : most;
    }
    return most;
}

static bool print_head(const struct text *text)
{
    static const char *const headings[] = {"",   "all ranks", "%",  "mean rank", "min",
                                           "on", "max",       "on", "stddev",    NULL};
    const struct profile_result *result = text->result;
    struct columns columns;
    if (!print_subject(text) || !print_budget(text) || !print_findings(text))
        return false;
    fputc('\n', text->stream);
    columns_start(&columns, "lrrrrrrrr");
    columns_set_optional(&columns, "........1");
    columns_add_all(&columns, headings);
    add_spread_row(&columns, text, "application time", &result->application);
    add_spread_row(&columns, text, "time in MPI", &result->time);
    columns_add_line(&columns, "percentages: of the application time of all ranks, %s",
                     units_time(result->application.sum));
    if (result->process_count)
        columns_add_line(&columns, "peak memory of a process: %s",
                         units_bytes(most_memory(result)));
    return columns_print(&columns, text->stream, text->width);
}

/* ---- Efficiency ------------------------------------------------------------------------------ */

static void add_ratio_row(struct columns *columns, const char *name, double value,
                          const char *meaning)
{
    columns_add(columns, "%s", name);
    columns_add(columns, "%.3f", value);
    columns_add(columns, "%s", meaning);
}

static bool print_efficiency(const struct text *text)
{
    struct profile_efficiency it;
    struct columns columns;
    char meaning[96];
    if (!profile_efficiency_find(text->result, NULL, &it))
        return true;
    fprintf(text->stream, "\nEfficiency (POP model): 1 is ideal, less than 0.8 is worth a look\n");
    columns_start(&columns, "lrl");
    snprintf(meaning, sizeof meaning, "mean rank: %s of %s outside MPI", units_time(it.mean),
             units_time(it.elapsed));
    add_ratio_row(&columns, "parallel efficiency", it.parallel, meaning);
    snprintf(meaning, sizeof meaning, "mean %s, most %s on rank %d", units_time(it.mean),
             units_time(it.most), it.most_rank);
    add_ratio_row(&columns, "  load balance", it.balance, meaning);
    if (it.nodes > 1) {
        snprintf(meaning, sizeof meaning, "%d nodes", it.nodes);
        add_ratio_row(&columns, "    between nodes", it.between_nodes, meaning);
        add_ratio_row(&columns, "    within nodes", it.within_nodes, "");
    }
    snprintf(meaning, sizeof meaning, "rank %d: %s of %s outside MPI", it.most_rank,
             units_time(it.most), units_time(it.elapsed));
    add_ratio_row(&columns, "  communication", it.communication, meaning);
    if (it.has_path) {
        snprintf(meaning, sizeof meaning, "rank %d works %s, the critical path is %s", it.most_rank,
                 units_time(it.most), units_time(it.path));
        add_ratio_row(&columns, "    serialisation", it.serialisation, meaning);
        snprintf(meaning, sizeof meaning, "%s of %s", units_time(it.path), units_time(it.elapsed));
        add_ratio_row(&columns, "    transfer", it.transfer, meaning);
    }
    const bool good = columns_print(&columns, text->stream, text->width);
    if (profile_efficiency_lacks_processors(&it))
        fprintf(text->stream,
                "These figures include the %.1f %% of the time without a processor.\n",
                100 * it.no_processor);
    return good;
}

/* ---- Efficiency over time -------------------------------------------------------------------- */

enum { PERIODS = 20, PERIODS_BRIEFLY = 10, PERIOD_BAR = 20 };

/* Each row is for a period, which consists of neighbouring windows. */
struct periods {
    const struct profile_windows *windows;
    size_t count, each; /* the numbers of periods, and of windows in each */
    /* parallel efficiency, without the last of several periods, which may be short */
    double least, most;
    bool varies; /* see find_periods */
};

static bool find_period(const struct periods *periods, size_t period,
                        struct profile_window_efficiency *it)
{
    return profile_windows_find(periods->windows, period * periods->each,
                                (period + 1) * periods->each, it);
}

/* Divides the windows into at most `most` periods. The efficiency varies if it is `far` from the
 * efficiency of the whole run during more than `part` of the run. */
static struct periods find_periods(const struct profile_windows *windows, size_t most)
{
    const double far = 0.1, part = 0.1;
    const size_t count = profile_windows_count(windows);
    struct periods periods = {.windows = windows, .each = (count + most - 1) / most, .least = 1};
    struct profile_window_efficiency all, it;
    double deviating = 0;
    if (!profile_windows_find(windows, 0, count, &all))
        return periods;
    periods.count = (count + periods.each - 1) / periods.each;
    for (size_t period = 0; period < periods.count; period++) {
        if (!find_period(&periods, period, &it))
            continue;
        if (fabs(it.parallel - all.parallel) > far)
            deviating += it.elapsed;
        if (period + 1 == periods.count && periods.count > 1)
            continue; /* the last period may be very short */
        periods.least = fmin(periods.least, it.parallel);
        periods.most = fmax(periods.most, it.parallel);
    }
    periods.varies = deviating > part * all.elapsed;
    return periods;
}

static void add_period_row(struct columns *columns, const struct periods *periods, size_t period)
{
    struct profile_window_efficiency it;
    char bar[PERIOD_BAR + 1] = "";
    columns_add(columns, "%s",
                units_time((double)(period * periods->each) * periods->windows->width));
    if (!find_period(periods, period, &it)) {
        columns_add_all(columns, (const char *const[]){"-", "-", "-", "", "", NULL});
        return;
    }
    columns_add(columns, "%.3f", it.parallel);
    columns_add(columns, "%.3f", it.balance);
    columns_add(columns, "%.3f", it.communication);
    columns_add(columns, "rank %d", it.most_rank);
    memset(bar, '#', (size_t)fmin(fmax(round(it.parallel * PERIOD_BAR), 0), PERIOD_BAR));
    columns_add(columns, "%s", bar);
}

static bool print_windows(const struct text *text, bool briefly)
{
    static const char *const headings[] = {
        "from", "parallel", "load balance", "communication", "most work", "parallel, 0 to 1", NULL};
    const struct periods periods =
        find_periods(&text->result->windows, briefly ? PERIODS_BRIEFLY : PERIODS);
    struct columns columns;
    if (!periods.count || (briefly && periods.count < PERIODS_BRIEFLY / 2))
        return true;
    fprintf(text->stream, "\nEfficiency over time");
    if (briefly && !periods.varies) {
        fprintf(text->stream, ": parallel efficiency %.2f to %.2f throughout\n", periods.least,
                periods.most);
        return true;
    }
    fprintf(text->stream, ", every %s\n",
            units_time((double)periods.each * periods.windows->width));
    columns_start(&columns, "rrrrrl");
    columns_add_all(&columns, headings);
    for (size_t period = 0; period < periods.count; period++)
        add_period_row(&columns, &periods, period);
    return columns_print(&columns, text->stream, text->width);
}

/* ---- Debug information ----------------------------------------------------------------------- */

static bool lacks_line(const struct profile_callsite *site)
{
    return site->frame_count && *site->frames->module && !site->frames->file;
}

/* Prints why call sites have no source lines: at most one hint about modules without debug
 * information, and one about extensions of Python. Call sites in extensions have lines of the
 * Python code, unless the frames of Python could not be read, or no code of Python runs any more.
 */
static void print_debug_hint(const struct text *text, size_t shown)
{
    const char *module = NULL;
    bool several = false, lacks_python = false;
    for (size_t i = 0; i < shown; i++) {
        const struct profile_callsite *site = &text->result->callsites[i];
        if (!lacks_line(site))
            continue;
        if (profile_module_is_extension(site->frames->module)) {
            lacks_python = true;
            continue;
        }
        several = several || (module && strcmp(module, site->frames->module) != 0);
        module = module ? module : site->frames->module;
    }
    struct columns lines; /* a table, because it replaces control characters in names */
    columns_start(&lines, "l");
    if (module) {
        columns_add_line(&lines, "(no debug information in %s%s:", qmpi_text_base_name(module),
                         several ? " and others" : "");
        columns_add_line(&lines, "compile with -g to see source lines)");
    }
    if (lacks_python && !profile_has_python_lines(text->result)) {
        columns_add_line(&lines,
                         "(no lines of Python: they are found in CPython 3.11 to 3.15, but not in");
        columns_add_line(&lines, "free-threaded builds, nor with python=no)");
    }
    columns_print(&lines, text->stream, text->width);
}

/* ---- Call sites ------------------------------------------------------------------------------ */

/* The columns in their order; `align` and `optional` are as in columns.h. The entry without a
 * heading stands for a column for each figure of figures.h whose heading is not empty.
 * add_callsite_row adds the cells. */
static const struct {
    const char *heading;
    char align, optional;
} callsite_columns[] = {
    {"call site", 'l', '.'}, {"calls", 'r', '.'},      {"time", 'r', '.'},    {"%", 'r', '.'},
    {"per call", 'r', '.'},  {NULL, 'r', '3'},         {"min", 'r', '2'},     {"on", 'r', '2'},
    {"max", 'r', '.'},       {"on", 'r', '.'},         {"ranks", 'r', '4'},   {"sent", 'r', '1'},
    {"received", 'r', '1'},  {"bytes/call", 'r', '.'}, {"message", 'r', '.'},
};
enum { CALLSITE_COLUMNS = sizeof callsite_columns / sizeof *callsite_columns };

/* Starts the table. `align` and `optional` must remain valid until the table is printed. */
static void start_callsites(struct columns *columns, char *align, char *optional)
{
    const char *headings[COLUMNS_MOST + 1];
    int count = 0;
    for (int i = 0; i < CALLSITE_COLUMNS; i++) {
        const char *const heading = callsite_columns[i].heading;
        for (int figure = 0; figure < (heading ? 1 : PROFILE_FIGURE_COUNT); figure++) {
            headings[count] = heading ? heading : profile_figures[figure].heading;
            if (!*headings[count])
                continue;
            align[count] = callsite_columns[i].align;
            optional[count++] = callsite_columns[i].optional;
        }
    }
    headings[count] = NULL;
    align[count] = optional[count] = '\0';
    columns_start(columns, align);
    columns_set_optional(columns, optional);
    columns_add_all(columns, headings);
}

static void add_figure_cells(struct columns *columns, const struct profile_calls *calls)
{
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const double value = profile_figure_get(calls, i);
        if (!*profile_figures[i].heading)
            continue;
        if (profile_figures[i].unit == PROFILE_COUNT)
            columns_add(columns, "%.0f", value);
        else
            columns_add(columns, "%s", units_time(value));
    }
}

static void add_callsite_row(struct columns *columns, const struct text *text,
                             const struct profile_callsite *site)
{
    const struct profile_calls *calls = &site->calls;
    const double count = calls->calls ? (double)calls->calls : 1;
    const double bytes = (double)calls->sent + (double)calls->received;
    columns_add(columns, "%s", site->name);
    columns_add(columns, "%llu", (unsigned long long)calls->calls);
    columns_add(columns, "%s", units_time(calls->time.sum));
    text_add_share_of(columns, text, site->name, calls->time.sum);
    columns_add(columns, "%s", units_time(calls->time.sum / count));
    add_figure_cells(columns, calls);
    text_add_extremes(columns, &calls->time);
    columns_add(columns, "%d", site->ranks);
    columns_add(columns, "%s", units_bytes((double)calls->sent));
    columns_add(columns, "%s", units_bytes((double)calls->received));
    columns_add(columns, "%s", units_bytes(bytes / count));
    columns_add(columns, "%s", site->messages ? units_bytes(bytes / (double)site->messages) : "");
    text_add_frames(columns, text, site->frames, site->frame_count);
}

static bool print_callsites(const struct text *text)
{
    char align[COLUMNS_MOST + 1], optional[COLUMNS_MOST + 1];
    const size_t shown = text_shown(text, text->result->callsite_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream, "\nCall sites: time of all ranks, and the greatest time of a rank\n");
    start_callsites(&columns, align, optional);
    for (size_t i = 0; i < shown; i++)
        add_callsite_row(&columns, text, &text->result->callsites[i]);
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->callsite_count, "call sites");
    print_debug_hint(text, shown);
    return good;
}

/* ---- The whole text -------------------------------------------------------------------------- */

bool profile_text_print(FILE *stream, const struct profile_result *result, unsigned sections,
                        const struct profile_layout *layout)
{
    const struct text text = {stream, result, layout->top, layout->width};
#define WANTS(SECTION) (sections & PROFILE_##SECTION)
    return print_head(&text) && print_efficiency(&text) &&
           (!WANTS(OVER_TIME) || print_windows(&text, sections == PROFILE_EVERYTHING)) &&
           (!WANTS(FLIGHTS) || text_flights(&text)) &&
           (!WANTS(FUNCTIONS) || text_functions(&text)) &&
           (!WANTS(CALLSITES) || print_callsites(&text)) &&
           (!WANTS(OUTSIDE) || text_outside(&text, sections == PROFILE_EVERYTHING)) &&
           (!WANTS(HISTOGRAMS) || text_histograms(&text)) &&
           (!WANTS(MATRIX) || text_matrix(&text)) &&
           (!WANTS(WAITS) || (text_waits(&text) && text_peer_waits(&text))) &&
           (!WANTS(COMMUNICATORS) || text_communicators(&text)) &&
           (!WANTS(FILES) || text_files(&text)) && (!WANTS(REGIONS) || text_regions(&text)) &&
           (!WANTS(PROCESSES) || text_processes(&text));
#undef WANTS
}

int profile_text_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > PROFILE_TEXT_WIDTH
               ? size.ws_col
               : PROFILE_TEXT_WIDTH;
}

enum { MESSAGE_PREFIX = 6 }; /* "qmpi: " */

/* Prints the text at once, so that lines of other processes do not come in between. */
static bool print_to_stderr(const struct profile_result *result, int top)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool good = stream != NULL;
    const locale_t numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = numbers ? uselocale(numbers) : (locale_t)0;
    const struct profile_layout layout = {top, profile_text_width(STDERR_FILENO) - MESSAGE_PREFIX};
    good = good && profile_text_print(stream, result, PROFILE_EVERYTHING, &layout);
    /* If fclose has no memory to shorten the text, it returns 0, and there is no text. */
    if (stream && (fclose(stream) != 0 || !text))
        good = false;
    if (good)
        qmpi_print(text);
    if (numbers) {
        uselocale(before);
        freelocale(numbers);
    }
    free(text);
    return good;
}

bool profile_text_write(const struct profile_result *result, const char *path, int top,
                        char **problem)
{
    struct profile_output output;
    *problem = NULL;
    if (!path) {
        if (print_to_stderr(result, top))
            return true;
        *problem = strdup("cannot print the table: out of memory");
        return false;
    }
    if (!profile_output_open(&output, path, problem))
        return false;
    const struct profile_layout layout = {top, PROFILE_TEXT_WIDTH};
    const bool good = profile_text_print(output.stream, result, PROFILE_EVERYTHING, &layout);
    return profile_output_close(&output, good, problem);
}
