/* SPDX-License-Identifier: MIT */
/* See conditions.h. */
#define _GNU_SOURCE
#include "config/conditions.h"

#include "util/util.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether MPI_Pcontrol(1) was called. Stored with release order and loaded with acquire order, so
 * that layers that are switched on see what the program stored before this call. */
static bool is_begun;

void qmpi_condition_begin(void)
{
    __atomic_store_n(&is_begun, true, __ATOMIC_RELEASE);
}

struct qmpi_condition_place qmpi_condition_place_here(int rank)
{
    static char *program; /* set once, with release order, so that other threads find a complete
                             text */
    char *path = __atomic_load_n(&program, __ATOMIC_ACQUIRE), *first = NULL;
    if (!path) {
        path = realpath("/proc/self/exe", NULL);
        if (!path)
            path = qmpi_copy(program_invocation_short_name);
        if (!__atomic_compare_exchange_n(&program, &first, path, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            free(path);
            path = first;
        }
    }
    return (struct qmpi_condition_place){rank, path, program_invocation_short_name,
                                         __atomic_load_n(&is_begun, __ATOMIC_ACQUIRE)};
}

/* ---- One condition --------------------------------------------------------------------------- */

static bool has_rank(const char *value, int rank)
{
    struct qmpi_value_set set;
    const bool has = qmpi_value_set_read(value, &set) && qmpi_value_set_has(&set, (uint64_t)rank);
    free(set.ranges);
    return has;
}

/* Compares with the full host name, and with its part before the first dot. */
static bool has_node(const char *value)
{
    char name[HOST_NAME_MAX + 1] = "";
    gethostname(name, sizeof name - 1);
    const bool has = qmpi_value_matches_patterns(value, name, true);
    name[strcspn(name, ".")] = '\0';
    return has || qmpi_value_matches_patterns(value, name, true);
}

/* Compares a pattern that contains a slash with the path, and any other pattern with the file name,
 * so that the names of directories do not count. */
static bool matches_program(const char *pattern, const char *path)
{
    const char *name = strchr(pattern, '/') ? path : qmpi_text_base_name(path);
    return qmpi_value_matches_patterns(pattern, name, false);
}

static bool has_program(const char *patterns, const struct qmpi_condition_place *place)
{
    bool has = false;
    while (*patterns && !has) {
        const size_t length = strcspn(patterns, ";");
        char *pattern = qmpi_copy_part(patterns, length);
        has = (place->program && matches_program(pattern, place->program)) ||
              (place->program_name && matches_program(pattern, place->program_name));
        free(pattern);
        patterns += length + (patterns[length] == ';');
    }
    return has;
}

enum qmpi_condition_truth qmpi_condition_holds(enum qmpi_tool_reserved option, const char *value,
                                               const struct qmpi_condition_place *place)
{
    bool holds = true;
    if (option == QMPI_RESERVED_RANKS) {
        if (place->rank < 0)
            return QMPI_HOLDS_UNKNOWN;
        holds = has_rank(value, place->rank);
    } else if (option == QMPI_RESERVED_NODES) {
        holds = has_node(value);
    } else if (option == QMPI_RESERVED_PROGRAM) {
        if (!place->program && !place->program_name)
            return QMPI_HOLDS_UNKNOWN;
        holds = has_program(value, place);
    } else if (option == QMPI_RESERVED_IF_ENV) {
        holds = qmpi_getenv(value) != NULL;
    } else if (option == QMPI_RESERVED_ENABLED) {
        holds = place->is_begun || !strcmp(value, "yes");
    }
    return holds ? QMPI_HOLDS : QMPI_HOLDS_NOT;
}

/* ---- All conditions of an entry -------------------------------------------------------------- */

static void each_value(const char *values, enum qmpi_tool_reserved option,
                       void (*each)(void *data, enum qmpi_tool_reserved option, const char *value),
                       void *data)
{
    while (*values) {
        const size_t length = strcspn(values, QMPI_RESERVED_SEPARATOR);
        char *value = qmpi_copy_part(values, length);
        each(data, option, value);
        free(value);
        values += length + (values[length] != '\0');
    }
}

void qmpi_condition_each(const struct qmpi_tool_entry *entry,
                         void (*each)(void *data, enum qmpi_tool_reserved option,
                                      const char *value),
                         void *data)
{
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++) {
        const enum qmpi_tool_reserved option = (enum qmpi_tool_reserved)i;
        if (entry->reserved[i] && qmpi_tool_reserved_is_condition(option))
            each_value(entry->reserved[i], option, each, data);
    }
}

struct search {
    const struct qmpi_condition_place *place;
    char *unmet; /* the first one; NULL: none so far */
};

static void check_condition(void *data, enum qmpi_tool_reserved option, const char *value)
{
    struct search *search = data;
    if (!search->unmet && qmpi_condition_holds(option, value, search->place) == QMPI_HOLDS_NOT)
        search->unmet = qmpi_format("%s=%s", qmpi_tool_reserved_name(option), value);
}

bool qmpi_condition_holds_all(const struct qmpi_tool_entry *entry, enum qmpi_tool_reserved option,
                              const struct qmpi_condition_place *place)
{
    struct search search = {place, NULL};
    if (entry->reserved[option])
        each_value(entry->reserved[option], option, check_condition, &search);
    const bool all = !search.unmet;
    free(search.unmet);
    return all;
}

char *qmpi_condition_unmet(const struct qmpi_tool_entry *entry,
                           const struct qmpi_condition_place *place)
{
    struct search search = {place, NULL};
    qmpi_condition_each(entry, check_condition, &search);
    return search.unmet;
}

const char *qmpi_condition_that_varies(const struct qmpi_tool_entry *entry)
{
    static const enum qmpi_tool_reserved varying[] = {QMPI_RESERVED_RANKS, QMPI_RESERVED_NODES,
                                                      QMPI_RESERVED_PROGRAM, QMPI_RESERVED_IF_ENV};
    for (size_t i = 0; i < sizeof varying / sizeof *varying; i++) {
        if (entry->reserved[varying[i]])
            return qmpi_tool_reserved_name(varying[i]);
    }
    return NULL;
}

bool qmpi_condition_may_be_unmet(const struct qmpi_tool_entry *entry)
{
    return qmpi_condition_that_varies(entry) || entry->reserved[QMPI_RESERVED_ENABLED];
}

char *qmpi_condition_refuse_communicating(const struct qmpi_tool_entry *entry, const char *tool)
{
    const char *condition = qmpi_condition_that_varies(entry);
    if (!condition)
        return NULL;
    return qmpi_message(
        "'%s' communicates in its wrappers, so it must be active on all ranks, but "
        "the option '%s' may switch it off on some of them\n"
        "hint: remove this option; if you know that it works, add the option @force=yes",
        tool, condition);
}
