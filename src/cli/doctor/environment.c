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

static const char *const variables[] = {"QMPI_TOOLS",           "MPIR_CVAR_QMPI_TOOL_LIST",
                                        "MPICH_QMPI_TOOL_LIST", "QMPI_CONFIG",
                                        "QMPI_DISABLE",         "QMPI_TOOL_PATH",
                                        "QMPI_ON_ERROR",        "QMPI_DEBUG",
                                        "QMPI_INTERNAL",        "QMPI_CLOCK"};
enum { VARIABLES = sizeof variables / sizeof *variables };

static bool is_known(const char *name, size_t length)
{
    for (int i = 0; i < VARIABLES; i++) {
        if (strlen(variables[i]) == length && !memcmp(variables[i], name, length))
            return true;
    }
    return false;
}

static const char *variable_at(const void *prefix, int index)
{
    return index < VARIABLES && !strncmp(variables[index], prefix, strlen(prefix))
               ? variables[index] + strlen(prefix)
           : index < VARIABLES ? ""
                               : NULL;
}

/* A name that is nearly one of ours was meant to be it; others may belong to somebody else. */
static void look_at_unknown(const char *entry)
{
    static const char prefix[] = "QMPI_";
    const size_t length = strcspn(entry, "=");
    if (strncmp(entry, prefix, sizeof prefix - 1) != 0 || is_known(entry, length))
        return;
    char *name = qmpi_copy_part(entry, length);
    const char *similar = qmpi_suggest(name + sizeof prefix - 1, variable_at, prefix);
    if (similar)
        doctor_wrong("%s is not a variable of qmpi and has no effect\nhint: did you mean %s%s?",
                     name, prefix, similar);
    free(name);
}

/* `where`: what lists them. */
static void look_at_folders(const char *where, const char *list)
{
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length && access(folder, R_OK | X_OK) != 0)
            doctor_wrong("%s: the directory %s does not exist or cannot be read\n"
                         "hint: correct or remove it",
                         where, folder);
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
        const size_t length = strcspn(list, ", ");
        if (length && !qmpi_debug_knows(list, length))
            doctor_wrong("QMPI_DEBUG: unknown topic '%.*s'\n" QMPI_TOPICS_HINT, (int)length, list);
        list += length + (list[length] != '\0');
    }
}

/* Which variables are set, what they are set to, and which of them another one makes idle. */
static void look_at_variables(void)
{
    struct qmpi_tool_stack stack;
    int set = 0;
    qmpi_stack_read(&stack);
    for (int i = 0; i < VARIABLES; i++) {
        const char *value = secure_getenv(variables[i]);
        if (!value)
            continue;
        const bool idle = i < 3 && strcmp(variables[i], stack.variable) != 0;
        char *shown = qmpi_shorten(value);
        doctor_note("%s=%s%s%s%s", variables[i], shown, idle ? " (ignored: " : "",
                    idle ? stack.variable : "", idle ? " is also set and takes precedence)" : "");
        free(shown);
        set++;
    }
    for (char **entry = environ; *entry; entry++)
        look_at_unknown(*entry);
    if (!set)
        doctor_note("no variables of qmpi are set");
    qmpi_stack_free(&stack);
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

static const char *const scopes[] = {
    [QMPI_SCOPE_USER] = "of the user",
    [QMPI_SCOPE_LISTED] = "of QMPI_CONFIG",
    [QMPI_SCOPE_SITE] = "of the site",
};

/* The tools of named stacks are layers only where the names of the stacks are used. */
static void say_contents(const struct qmpi_config_file *file)
{
    const struct qmpi_config *config = &file->config;
    const int stacks = config->section_count - QMPI_SECTION_STACKS;
    int tools = 0;
    for (int i = 0; i < config->tools.count; i++)
        tools += config->tools.entries[i].section < QMPI_SECTION_STACKS;
    char *names = stacks == 1 ? qmpi_copy(", 1 named stack")
                  : stacks    ? qmpi_format(", %d named stacks", stacks)
                              : qmpi_copy("");
    doctor_ok("configuration file %s: %s, %d tool%s%s", scopes[file->scope], file->path, tools,
              tools == 1 ? "" : "s", names);
    free(names);
}

static void look_at_setting(const struct qmpi_config_file *file, int setting)
{
    const char *key = qmpi_config_names[setting].key;
    const char *value = file->config.settings[setting];
    const char *variable = qmpi_setting_replaced_by(file, setting);
    doctor_note("the file sets %s = %s%s%s%s", key, value, variable ? " (ignored: " : "",
                variable ? variable : "", variable ? " is set and takes precedence)" : "");
    if (setting == QMPI_SETTING_TOOL_PATH && !variable) {
        char *where =
            qmpi_message("%s, line %d '%s'", file->path, file->config.setting_lines[setting], key);
        look_at_folders(where, value);
        free(where);
    }
}

static void look_at_file(const struct qmpi_config_file *file)
{
    const struct qmpi_config *config = &file->config;
    if (file->unreadable) {
        doctor_wrong("%s: %-s", file->scope == QMPI_SCOPE_LISTED ? "QMPI_CONFIG" : "configuration",
                     file->unreadable);
        return;
    }
    say_contents(file);
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        if (config->settings[i])
            look_at_setting(file, i);
    }
    for (int i = 0; i < config->problem_count; i++)
        look_at_line(file->path, &config->problems[i]);
}

static void look_at_config(void)
{
    struct qmpi_tool_stack stack;
    int count;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    char *site = qmpi_site_folder(), *real = realpath(site, NULL);
    doctor_note("configuration files of the site: %s/*.conf%s", real ? real : site,
                real ? "" : " (this directory does not exist)");
    free(real);
    free(site);
    for (int i = 0; i < count; i++)
        look_at_file(&files[i]);
    qmpi_stack_read(&stack);
    for (char *line = stack.notes; *line;) {
        char *end = strchr(line, '\n');
        doctor_note("%.*s", (int)(end - line), line);
        line = end + 1;
    }
    for (int i = 0; i < stack.disabled.count; i++)
        doctor_note("QMPI_DISABLE leaves out '%s' (%s)", stack.disabled.entries[i].text,
                    stack.disabled.entries[i].source);
    qmpi_stack_free(&stack);
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
    look_at_folders("QMPI_TOOL_PATH", qmpi_getenv("QMPI_TOOL_PATH"));
    look_at_choice("QMPI_ON_ERROR", "stop", "skip", "stop");
    look_at_choice("QMPI_INTERNAL", "0", "1", "0");
    look_at_choice("QMPI_CLOCK", "tsc", "monotonic", "the default");
    look_at_topics();
    look_at_config();
    look_at_preload();
}
