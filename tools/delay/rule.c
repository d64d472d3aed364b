/* SPDX-License-Identifier: MIT */
/* See rule.h. */
#define _GNU_SOURCE
#include "tools/delay/rule.h"

#include "toolkit/toolkit.h"
#include "tools/delay_manifest.h"
#include "util/util.h"

#include <qmpi/observer.h>
#include <qmpi/traits.h>

#include <stdlib.h>
#include <string.h>

const QMPIX_Tool_option rule_options[] = TOOL_OPTIONS;

/* ---- Functions ------------------------------------------------------------------------------- */

/* Functions with which programs handle errors. They fail only if their full names are given. */
static const char *const reserved[] = {
    "MPI_Error_class",          "MPI_Error_string",        "MPI_Comm_call_errhandler",
    "MPI_File_call_errhandler", "MPI_Win_call_errhandler", "MPI_Session_call_errhandler",
    "MPI_Initialized",          "MPI_Finalized",
};

static bool is_reserved(const char *name)
{
    bool found = false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        found = found || !strcmp(name, reserved[i]);
    return found;
}

/* Returns whether calls of a function can fail. They cannot if they initialize or finalize MPI, end
 * the job, or return no error code. MPI_Pcontrol cannot either, because fault.c has no interceptor
 * for its variable arguments. */
static bool can_fail(const QMPIX_Traits *traits)
{
    return traits->flags & QMPIX_TRAIT_ERROR && traits->role != QMPIX_ROLE_INIT &&
           traits->role != QMPIX_ROLE_FINALIZE && traits->role != QMPIX_ROLE_ABORT &&
           traits->role != QMPIX_ROLE_PCONTROL;
}

/* Sets RULE_ACTS and RULE_NAMED from a list of names, patterns and groups. If the list is NULL,
 * chooses all functions. Returns NULL, or a message that the caller frees. */
static char *read_function_list(const char *list, unsigned char does[MPI_LAST_FUNC])
{
    unsigned char listed[MPI_LAST_FUNC];
    char *item = tool_option_functions(list ? list : "*", listed);
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        does[number] = listed[number] & QMPI_VALUE_LISTED ? RULE_ACTS : 0;
        if (listed[number] & QMPI_VALUE_NAMED)
            does[number] |= RULE_NAMED;
    }
    char *problem = item && *item ? qmpi_value_refuse_functions("functions=", item) : NULL;
    free(item);
    return problem;
}

/* Sets the bits RULE_… of each function, except RULE_MAKES. Sets RULE_FAILS only if `fails` is
 * true. Returns NULL, or a message that the caller frees. */
static char *choose_functions(const char *list, bool fails, unsigned char does[MPI_LAST_FUNC])
{
    char *problem = read_function_list(list, does);
    int acting = 0, failing = 0;
    for (int number = 0; number < MPI_LAST_FUNC && !problem; number++) {
        const QMPIX_Function *function;
        QMPIX_Traits traits = {.size = sizeof traits};
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
            continue;
        QMPIX_Function_get_traits(function, &traits);
        if (does[number]) {
            const bool named = does[number] & RULE_NAMED;
            acting++;
            if (fails && named && !can_fail(&traits))
                problem = qmpi_message("%s can be delayed, but cannot fail\n"
                                       "hint: remove it from functions=, or remove error=",
                                       function->name);
            if (fails && can_fail(&traits) && (named || !is_reserved(function->name))) {
                does[number] |= RULE_FAILS;
                failing++;
            }
        }
        if (traits.role == QMPIX_ROLE_INIT)
            does[number] |= RULE_STARTS;
        if (traits.role == QMPIX_ROLE_ABORT)
            does[number] |= RULE_ENDS;
    }
    if (!problem && (!acting || (fails && !failing)))
        problem = qmpi_message("functions= selects no function %s\n"
                               "hint: name other functions, or omit functions= to select all",
                               acting ? "that can fail" : "to act on");
    return problem;
}

/* ---- Error classes --------------------------------------------------------------------------- */

#define ERROR(NAME)                                                                                \
    {                                                                                              \
#NAME, NAME                                                                                \
    }
static const struct {
    const char *name;
    int error;
} errors[] = {
    ERROR(MPI_ERR_BUFFER),
    ERROR(MPI_ERR_COUNT),
    ERROR(MPI_ERR_TYPE),
    ERROR(MPI_ERR_TAG),
    ERROR(MPI_ERR_COMM),
    ERROR(MPI_ERR_RANK),
    ERROR(MPI_ERR_REQUEST),
    ERROR(MPI_ERR_ROOT),
    ERROR(MPI_ERR_GROUP),
    ERROR(MPI_ERR_OP),
    ERROR(MPI_ERR_TOPOLOGY),
    ERROR(MPI_ERR_DIMS),
    ERROR(MPI_ERR_ARG),
    ERROR(MPI_ERR_UNKNOWN),
    ERROR(MPI_ERR_TRUNCATE),
    ERROR(MPI_ERR_OTHER),
    ERROR(MPI_ERR_INTERN),
    ERROR(MPI_ERR_IN_STATUS),
    ERROR(MPI_ERR_PENDING),
    ERROR(MPI_ERR_ACCESS),
    ERROR(MPI_ERR_AMODE),
    ERROR(MPI_ERR_ASSERT),
    ERROR(MPI_ERR_BAD_FILE),
    ERROR(MPI_ERR_BASE),
    ERROR(MPI_ERR_CONVERSION),
    ERROR(MPI_ERR_DISP),
    ERROR(MPI_ERR_DUP_DATAREP),
    ERROR(MPI_ERR_FILE_EXISTS),
    ERROR(MPI_ERR_FILE_IN_USE),
    ERROR(MPI_ERR_FILE),
    ERROR(MPI_ERR_INFO_KEY),
    ERROR(MPI_ERR_INFO_NOKEY),
    ERROR(MPI_ERR_INFO_VALUE),
    ERROR(MPI_ERR_INFO),
    ERROR(MPI_ERR_IO),
    ERROR(MPI_ERR_KEYVAL),
    ERROR(MPI_ERR_LOCKTYPE),
    ERROR(MPI_ERR_NAME),
    ERROR(MPI_ERR_NO_MEM),
    ERROR(MPI_ERR_NOT_SAME),
    ERROR(MPI_ERR_NO_SPACE),
    ERROR(MPI_ERR_NO_SUCH_FILE),
    ERROR(MPI_ERR_PORT),
    ERROR(MPI_ERR_QUOTA),
    ERROR(MPI_ERR_READ_ONLY),
    ERROR(MPI_ERR_RMA_ATTACH),
    ERROR(MPI_ERR_RMA_CONFLICT),
    ERROR(MPI_ERR_RMA_RANGE),
    ERROR(MPI_ERR_RMA_SHARED),
    ERROR(MPI_ERR_RMA_SYNC),
    ERROR(MPI_ERR_RMA_FLAVOR),
    ERROR(MPI_ERR_SERVICE),
    ERROR(MPI_ERR_SIZE),
    ERROR(MPI_ERR_SPAWN),
    ERROR(MPI_ERR_UNSUPPORTED_DATAREP),
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION),
    ERROR(MPI_ERR_WIN),
#ifdef MPI_ERR_PROC_ABORTED
    ERROR(MPI_ERR_PROC_ABORTED),
#endif
#ifdef MPI_ERR_SESSION
    ERROR(MPI_ERR_SESSION),
#endif
#ifdef MPI_ERR_VALUE_TOO_LARGE
    ERROR(MPI_ERR_VALUE_TOO_LARGE),
#endif
#ifdef MPIX_ERR_PROC_FAILED
    ERROR(MPIX_ERR_PROC_FAILED),
    ERROR(MPIX_ERR_PROC_FAILED_PENDING),
    ERROR(MPIX_ERR_REVOKED),
#endif
    ERROR(MPI_T_ERR_CANNOT_INIT),
    ERROR(MPI_T_ERR_NOT_INITIALIZED),
    ERROR(MPI_T_ERR_MEMORY),
    ERROR(MPI_T_ERR_INVALID),
    ERROR(MPI_T_ERR_INVALID_INDEX),
    ERROR(MPI_T_ERR_INVALID_NAME),
    ERROR(MPI_T_ERR_INVALID_HANDLE),
    ERROR(MPI_T_ERR_INVALID_SESSION),
    ERROR(MPI_T_ERR_OUT_OF_HANDLES),
    ERROR(MPI_T_ERR_OUT_OF_SESSIONS),
    ERROR(MPI_T_ERR_CVAR_SET_NOT_NOW),
    ERROR(MPI_T_ERR_CVAR_SET_NEVER),
    ERROR(MPI_T_ERR_PVAR_NO_STARTSTOP),
    ERROR(MPI_T_ERR_PVAR_NO_WRITE),
    ERROR(MPI_T_ERR_PVAR_NO_ATOMIC),
#ifdef MPI_T_ERR_NOT_SUPPORTED
    ERROR(MPI_T_ERR_NOT_SUPPORTED),
#endif
};

/* Finds an error class by its name, or a class or code by its number. */
static bool find_error(const char *text, int *error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (!strcmp(text, errors[i].name)) {
            *error = errors[i].error;
            return true;
        }
    }
    uint64_t number = 0;
    const bool is_code = qmpi_value_whole(text, MPI_SUCCESS + 1, MPI_ERR_LASTCODE, &number);
    *error = (int)number;
    return is_code;
}

/* ---- Options --------------------------------------------------------------------------------- */

static const char duration_hint[] =
    "give a time such as 20us, a range such as 10us-50us, or a mean such as exp 20us; units are "
    "ns, us, ms, s, min and h";
static const char noise_hint[] =
    "give the length of a detour and the interval between detours: 50us/1ms, or 50us/random 1ms";

static const char *get_option(const struct rule *rule, const char *key)
{
    const char *value = NULL;
    return QMPIX_Tool_get_option(rule->tool_id, key, &value) == MPI_SUCCESS ? value : NULL;
}

static bool refuse_option(const struct rule *rule, const char *key, const char *hint)
{
    tool_option_fail(rule->tool_id, key, get_option(rule, key), hint);
    return false;
}

/* The following functions return true if the option is valid or not given. Otherwise, they report
 * the problem with QMPIX_Tool_fail and return false. */
static bool read_duration(const struct rule *rule, const char *key, struct duration *duration)
{
    const char *value = get_option(rule, key);
    return !value || duration_read(value, duration) || refuse_option(rule, key, duration_hint);
}

static bool read_noise(struct rule *rule)
{
    const char *value = get_option(rule, "noise");
    return !value ||
           duration_read_noise(value, &rule->detour, &rule->period, &rule->random_moment) ||
           refuse_option(rule, "noise", noise_hint);
}

static bool read_probability(struct rule *rule)
{
    return qmpi_value_real(get_option(rule, "probability"), 1, &rule->probability) ||
           refuse_option(rule, "probability", "give a number from 0 to 1, such as 0.01");
}

static bool read_seed(struct rule *rule)
{
    return qmpi_value_whole(get_option(rule, "seed"), 0, UINT64_MAX, &rule->seed) ||
           refuse_option(rule, "seed", "give a whole number, such as 42");
}

static bool read_error(struct rule *rule)
{
    const char *value = get_option(rule, "error");
    return !value || find_error(value, &rule->error) ||
           refuse_option(rule, "error",
                         "give an error class of this MPI, such as MPI_ERR_OTHER, or its number");
}

/* Reads an option that is one of two words. Sets `*is_second` to whether it is the second one. */
static bool read_word(const struct rule *rule, const char *key, const char *first,
                      const char *second, bool *is_second)
{
    const char *const words[] = {first, second, NULL};
    char *hint = qmpi_format("give %s or %s", first, second);
    int place;
    const bool good = tool_option_word(rule->tool_id, key, words, hint, &place);
    *is_second = place == 1;
    free(hint);
    return good;
}

/* Chooses the functions, and checks options that depend on each other. Returns NULL, or a message
 * that the caller frees. */
static char *combine_options(struct rule *rule)
{
    char *problem =
        choose_functions(get_option(rule, "functions"), rule->error != MPI_SUCCESS, rule->does);
    if (problem)
        return problem;
    if (!get_option(rule, "before") && !get_option(rule, "after") && !rule->period && !rule->error)
        return qmpi_copy("the options specify no action\n"
                         "hint: give before=, after=, noise= or error=");
    if (rule->carry_out && !rule->error)
        return qmpi_copy("carry-out=yes requires an error to report\n"
                         "hint: name an error with error=");
    return NULL;
}

QMPI_COMPUTES static bool read_rule_options(struct rule *rule)
{
    const int tool_id = rule->tool_id;
    if (!read_duration(rule, "before", &rule->before) ||
        !read_duration(rule, "after", &rule->after) || !read_noise(rule) ||
        !tool_option_set(tool_id, "ranks", &rule->ranks) ||
        !tool_option_set(tool_id, "calls", &rule->calls) ||
        !read_word(rule, "count", "all", "function", &rule->count_each) ||
        !read_word(rule, "wait", "busy", "sleep", &rule->sleeps) ||
        !tool_option_boolean(tool_id, "carry-out", &rule->carry_out) ||
        !tool_option_boolean(tool_id, "report", &rule->reports) || !read_probability(rule) ||
        !read_seed(rule) || !read_error(rule))
        return false;
    char *problem = combine_options(rule);
    if (problem)
        QMPIX_Tool_fail(tool_id, problem);
    const bool good = !problem;
    free(problem);
    return good;
}

static bool read_all_options(struct rule *rule)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    const bool good = read_rule_options(rule);
    qmpi_arithmetic_end(&before);
    return good;
}

/* Returns the position of the layer among the layers of this tool. Random numbers depend on this
 * position and not on tool_id, so that other tools in the stack do not change them. */
static uint64_t find_stream(int tool_id)
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
    rule->stream = find_stream(tool_id);
    if (!read_all_options(rule)) {
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
    __atomic_store_n(&rule->active, qmpi_value_set_has(&rule->ranks, (uint64_t)rank),
                     __ATOMIC_RELAXED);
}
