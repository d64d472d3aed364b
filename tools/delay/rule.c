/* SPDX-License-Identifier: MIT */
/* See rule.h. */
#include "rule.h"

#include "delay_manifest.h"
#include "util/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const QMPIX_Tool_option rule_options[] = TOOL_OPTIONS;

static const char duration_hint[] =
    "give a time such as 20us, a range such as 10us-50us, or a mean such as exp 20us; units are "
    "ns, us, ms and s";
static const char noise_hint[] =
    "give the length of a detour and the interval between detours: 50us/1ms, or 50us/random 1ms";

static char *refuse(const char *key, const char *value, const char *hint)
{
    return qmpi_message("invalid value %s=%.100s\n"
                        "hint: %s",
                        key, value, hint);
}

static const char *option(const struct rule *rule, const char *key)
{
    const char *value = NULL;
    return QMPIX_Tool_get_option(rule->tool_id, key, &value) == MPI_SUCCESS ? value : NULL;
}

/* The readers: NULL, or the message. What is not given stays as it is. */
static char *read_duration(const struct rule *rule, const char *key, struct duration *duration)
{
    const char *value = option(rule, key);
    return !value || duration_read(value, duration) ? NULL : refuse(key, value, duration_hint);
}

static char *read_set(const struct rule *rule, const char *key, struct qmpi_number_set *set)
{
    const char *value = option(rule, key);
    return !value || qmpi_number_set_read(value, set) ? NULL
                                                      : refuse(key, value, QMPI_NUMBER_SET_HINT);
}

static char *read_word(const struct rule *rule, const char *key, const char *no, const char *yes,
                       bool *is)
{
    const char *value = option(rule, key);
    *is = !strcmp(value, yes);
    if (*is || !strcmp(value, no))
        return NULL;
    char *hint = qmpi_format("give %s or %s", no, yes);
    char *problem = refuse(key, value, hint);
    free(hint);
    return problem;
}

static char *read_noise(struct rule *rule)
{
    const char *value = option(rule, "noise");
    if (!value || duration_read_noise(value, &rule->detour, &rule->period, &rule->random_moment))
        return NULL;
    return refuse("noise", value, noise_hint);
}

static char *read_probability(struct rule *rule)
{
    const char *value = option(rule, "probability");
    char *end;
    rule->probability = duration_read_real(value, &end);
    if (end != value && !*end && rule->probability >= 0 && rule->probability <= 1)
        return NULL;
    return refuse("probability", value, "give a number from 0 to 1, such as 0.01");
}

static char *read_seed(struct rule *rule)
{
    const char *value = option(rule, "seed");
    char *end;
    errno = 0;
    rule->seed = strtoull(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && !errno)
        return NULL;
    return refuse("seed", value, "give a whole number, such as 42");
}

static char *read_error(struct rule *rule)
{
    const char *value = option(rule, "error");
    if (!value || choose_error(value, &rule->error))
        return NULL;
    return refuse("error", value,
                  "give an error class of this MPI, such as MPI_ERR_OTHER, or its number");
}

static char *check(const struct rule *rule)
{
    if (!option(rule, "before") && !option(rule, "after") && !rule->period && !rule->error)
        return qmpi_copy("the options specify no action\n"
                         "hint: give before=, after=, noise= or error=");
    if (rule->carry_out && !rule->error)
        return qmpi_copy("carry-out=yes requires an error to report\n"
                         "hint: name an error with error=");
    return NULL;
}

static char *read_all(struct rule *rule)
{
    char *problem = read_duration(rule, "before", &rule->before);
    problem = problem ? problem : read_duration(rule, "after", &rule->after);
    problem = problem ? problem : read_noise(rule);
    problem = problem ? problem : read_set(rule, "ranks", &rule->ranks);
    problem = problem ? problem : read_set(rule, "calls", &rule->calls);
    problem = problem ? problem : read_word(rule, "count", "all", "function", &rule->count_each);
    problem = problem ? problem : read_word(rule, "wait", "busy", "sleep", &rule->sleeps);
    problem = problem ? problem : read_word(rule, "carry-out", "no", "yes", &rule->carry_out);
    problem = problem ? problem : read_word(rule, "report", "no", "yes", &rule->reports);
    problem = problem ? problem : read_probability(rule);
    problem = problem ? problem : read_seed(rule);
    problem = problem ? problem : read_error(rule);
    problem = problem ? problem
                      : choose_functions(option(rule, "functions"), rule->error != MPI_SUCCESS,
                                         rule->does);
    return problem ? problem : check(rule);
}

/* Its place among the layers of its tool, so that other tools in the stack change no decision. */
static uint64_t place_of(int tool_id)
{
    const char *mine = "", *its = "";
    uint64_t place = 0;
    QMPIX_Tool_get_name(tool_id, &mine);
    for (int above = 1; above < tool_id; above++)
        place += QMPIX_Tool_get_name(above, &its) == MPI_SUCCESS && !strcmp(its, mine);
    return place;
}

struct rule *rule_read(int tool_id)
{
    struct rule *rule = qmpi_allocate(1, sizeof *rule);
    rule->tool_id = tool_id;
    rule->stream = place_of(tool_id);
    char *problem = read_all(rule);
    if (problem) {
        QMPIX_Tool_fail(tool_id, problem);
        free(problem);
        free(rule->ranks.ranges);
        free(rule->calls.ranges);
        free(rule);
        return NULL;
    }
    const int rank = qmpi_launcher_rank();
    rule_set_rank(rule, rank < 0 ? 0 : rank);
    return rule;
}

void rule_set_rank(struct rule *rule, int rank)
{
    __atomic_store_n(&rule->rank, rank, __ATOMIC_RELAXED);
    __atomic_store_n(&rule->active, qmpi_number_set_has(&rule->ranks, (uint64_t)rank),
                     __ATOMIC_RELAXED);
}
