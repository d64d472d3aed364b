/* SPDX-License-Identifier: MIT */
/* See doctor.h: the variables in force, the configuration file, and what is preloaded. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "config/config.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const variables[] = {"QMPI_TOOLS",
                                        "MPIR_CVAR_QMPI_TOOL_LIST",
                                        "MPICH_QMPI_TOOL_LIST",
                                        "QMPI_CONFIG",
                                        "QMPI_TOOL_PATH",
                                        "QMPI_ON_ERROR",
                                        "QMPI_DEBUG",
                                        "QMPI_INTERNAL",
                                        "QMPI_CLOCK"};
enum { VARIABLES = sizeof variables / sizeof *variables };

static bool is_known(const char *name, size_t length)
{
    for (int i = 0; i < VARIABLES; i++) {
        if (strlen(variables[i]) == length && !memcmp(variables[i], name, length))
            return true;
    }
    return false;
}

/* How many characters must be added, left out or changed to make one name of the other. */
static int distance(const char *one, size_t length, const char *other)
{
    enum { LONGEST = 32 };
    int row[LONGEST + 1];
    const size_t width = strlen(other);
    if (length > LONGEST || width > LONGEST)
        return LONGEST;
    for (size_t k = 0; k <= width; k++)
        row[k] = (int)k;
    for (size_t i = 1; i <= length; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t k = 1; k <= width; k++) {
            const int change = corner + (one[i - 1] != other[k - 1]);
            const int less = 1 + (row[k] < row[k - 1] ? row[k] : row[k - 1]);
            corner = row[k];
            row[k] = change < less ? change : less;
        }
    }
    return row[width];
}

/* A name that is nearly one of ours was meant to be it; others may belong to somebody else. */
static void look_at_unknown(const char *entry)
{
    const size_t length = strcspn(entry, "=");
    if (strncmp(entry, "QMPI_", 5) != 0 || is_known(entry, length))
        return;
    for (int i = 0; i < VARIABLES; i++) {
        if (distance(entry, length, variables[i]) > 2)
            continue;
        doctor_wrong("%.*s is not a variable of qmpi and has no effect\nhint: did you mean %s?",
                     (int)length, entry, variables[i]);
        return;
    }
}

static void look_at_folders(const char *list)
{
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length && access(folder, R_OK | X_OK) != 0)
            doctor_wrong("QMPI_TOOL_PATH: the directory %s does not exist or cannot be read\n"
                         "hint: correct or remove it",
                         folder);
        free(folder);
        list += length + (list[length] == ':');
    }
}

static void look_at_choice(const char *variable, const char *one, const char *other,
                           const char *standard)
{
    const char *value = qmpi_getenv(variable);
    if (value && strcmp(value, one) != 0 && strcmp(value, other) != 0)
        doctor_wrong("%s: unknown value '%s'; using %s\nhint: set it to %s or %s", variable, value,
                     standard, one, other);
}

static void look_at_topics(void)
{
    const char *list = qmpi_getenv("QMPI_DEBUG");
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        if (length && !qmpi_debug_knows(list, length))
            doctor_wrong("QMPI_DEBUG: unknown topic '%.*s'\n"
                         "hint: use parse, find, load, base, chain or all",
                         (int)length, list);
        list += length + (list[length] == ',');
    }
}

/* What the stack is from: a variable or the file. */
static const char *find_source(void)
{
    struct qmpi_tool_list tools;
    const char *source;
    qmpi_stack_read(&tools, &source);
    qmpi_tool_list_free(&tools);
    return source;
}

/* Which variables are set, what they are set to, and which of them another one makes idle. */
static void look_at_variables(void)
{
    const char *stack = find_source();
    int set = 0;
    for (int i = 0; i < VARIABLES; i++) {
        const char *value = secure_getenv(variables[i]);
        if (!value)
            continue;
        const bool idle = i < 3 && strcmp(variables[i], stack) != 0;
        char *shown = qmpi_shorten(value);
        doctor_note("%s=%s%s%s%s", variables[i], shown, idle ? " (ignored: " : "",
                    idle ? stack : "", idle ? " is also set and takes precedence)" : "");
        free(shown);
        set++;
    }
    for (char **entry = environ; *entry; entry++)
        look_at_unknown(*entry);
    if (!set)
        doctor_note("no variables of qmpi are set");
}

static void look_at_line(const char *path, const struct qmpi_config_problem *wrong)
{
    char *shown = qmpi_shorten(wrong->text);
    if (wrong->line)
        doctor_wrong("%s, line %d '%s': %-s", path, wrong->line, shown, wrong->problem);
    else
        doctor_wrong("%s: %-s", path, wrong->problem);
    free(shown);
}

static void look_at_config(void)
{
    const struct qmpi_config *config = qmpi_config_get();
    const char *path = qmpi_config_path();
    if (!path)
        return;
    if (qmpi_config_unreadable()) {
        doctor_wrong("QMPI_CONFIG: %-s", qmpi_config_unreadable());
        return;
    }
    doctor_ok("configuration file: %s, %d tool%s", path, config->tools.count,
              config->tools.count == 1 ? "" : "s");
    if (config->tools.count && strcmp(find_source(), path) != 0)
        doctor_note("the tools in this file are ignored: %s is set and takes precedence",
                    find_source());
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        const char *variable = qmpi_config_names[i].variable;
        if (config->settings[i])
            doctor_note("the file sets %s = %s%s%s%s", qmpi_config_names[i].key,
                        config->settings[i], qmpi_getenv(variable) ? " (ignored: " : "",
                        qmpi_getenv(variable) ? variable : "",
                        qmpi_getenv(variable) ? " is set and takes precedence)" : "");
    }
    for (int i = 0; i < config->problem_count; i++)
        look_at_line(path, &config->problems[i]);
}

/* ---- LD_PRELOAD ------------------------------------------------------------------------------ */

struct search {
    const char *name;
    char *path;
};

/* This process was given the same list: what the loader made of an entry shows here. */
static int match(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    const char *name = info->dlpi_name;
    const char *slash = strrchr(name, '/');
    (void)size;
    if (strcmp(name, search->name) != 0 &&
        (strchr(search->name, '/') || !slash || strcmp(slash + 1, search->name) != 0))
        return 0;
    search->path = qmpi_copy(name);
    return 1;
}

/* The file of an LD_PRELOAD entry as it is loaded; NULL: it is not. To be freed. */
static char *find_preloaded(const char *name)
{
    struct search search = {name, NULL};
    dl_iterate_phdr(match, &search);
    return search.path;
}

bool doctor_is_preloaded(const char *path)
{
    bool found = false;
    for (const char *list = getenv("LD_PRELOAD"); list && *list && !found;) {
        const size_t length = strcspn(list, " :");
        char *name = qmpi_copy_part(list, length);
        char *loaded = length ? find_preloaded(name) : NULL;
        char *one = loaded ? realpath(loaded, NULL) : NULL, *other = realpath(path, NULL);
        found = one && other && !strcmp(one, other);
        free(one);
        free(other);
        free(loaded);
        free(name);
        list += length + (list[length] != '\0');
    }
    return found;
}

static void look_at_preloaded(const char *name)
{
    char *path = find_preloaded(name);
    if (!path) {
        doctor_wrong("LD_PRELOAD: the dynamic loader cannot preload '%s' and continues without it\n"
                     "hint: correct the name, or remove it from LD_PRELOAD",
                     name);
        return;
    }
    struct doctor_object object = doctor_object_read(path, false);
    char *real = realpath(path, NULL);
    if (object.qmpi && real && strcmp(real, cli_library_path()) != 0)
        doctor_wrong("LD_PRELOAD contains another libqmpi: %s\n"
                     "hint: remove it; `qmpi run` leaves it out, and preloads %s itself",
                     real, cli_library_path());
    else if (object.mpi_library)
        doctor_note("LD_PRELOAD contains an MPI library: %s", path);
    else if (object.pmpi_tool && !doctor_is_listed(path))
        doctor_note(
            "%s is a preloaded PMPI tool that is not in the stack: it becomes the lowest layer\n"
            "hint: list it at its position in the stack",
            path);
    else
        doctor_ok("preloaded: %s", path);
    free(real);
    free(object.problem);
    free(path);
}

static void look_at_preload(void)
{
    const char *list = getenv("LD_PRELOAD");
    while (list && *list) {
        const size_t length = strcspn(list, " :");
        char *name = qmpi_copy_part(list, length);
        if (length)
            look_at_preloaded(name);
        free(name);
        list += length + (list[length] != '\0');
    }
}

void doctor_look_at_environment(void)
{
    look_at_variables();
    look_at_folders(qmpi_setting("QMPI_TOOL_PATH"));
    look_at_choice("QMPI_ON_ERROR", "stop", "skip", "stop");
    look_at_choice("QMPI_INTERNAL", "0", "1", "0");
    look_at_choice("QMPI_CLOCK", "tsc", "monotonic", "the default");
    look_at_topics();
    look_at_config();
    look_at_preload();
}
