/* SPDX-License-Identifier: MIT */
/* qmpi doctor finds reasons why a run would not do what its user expects. It does not initialize
 * MPI. It tries tools in other processes, and only reads the file of the program. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "cli/program.h"
#include "config/config.h"
#include "elf/elf.h"
#include "generate/build.h"
#include "util/util.h"

#include <argp.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_TIMEOUT = CLI_KEY_FREE, STATUS_WRONG = 1 };

static const struct argp_option options[] = {
    {"timeout", KEY_TIMEOUT, "TIME", 0, "time limit for loading tools (default: 10s; 0: none)", 0},
    {0},
};

static const char doc[] =
    "Diagnose the MPI library, the environment, the tools of the stack, and how the program calls "
    "MPI.\vEach problem is printed with a hint. The exit status is 0 if no problems were found, 1 "
    "if problems were found, and 2 after a usage error.\n"
    "\n"
    "  qmpi doctor -t profile:libmpiP.so -- ./app";

static error_t parse_doctor_option(int key, char *argument, struct argp_state *state)
{
    const char **program = state->input;
    switch (key) {
    case KEY_TIMEOUT:
        cli_child_set_time_limit(argument, state);
        return 0;
    case ARGP_KEY_ARG: /* The arguments of the program are ignored. */
        *program = argument;
        state->next = state->argc;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- qmpi and its MPI ------------------------------------------------------------------------ */

/* Returns the path of an MPI library of this kind that the dynamic loader finds for this command,
 * or NULL. The caller frees the path. */
static char *find_mpi_library(enum qmpi_mpi_kind kind)
{
    static const char *const names[QMPI_MPI_KINDS][2] = {
        [QMPI_MPI_MPICH] = {"libmpich.so.12", "libmpi.so.12"},
        [QMPI_MPI_OPEN_MPI] = {"libmpi.so.40", "libmpi.so.20"},
        [QMPI_MPI_ABI] = {"libmpi_abi.so.1", "libmpi_abi.so.0"},
    };
    struct qmpi_elf_file self;
    char *found = NULL;
    if (qmpi_elf_file_open_program("/proc/self/exe", &self))
        return NULL;
    for (int i = 0; !found && i < 2; i++) {
        found = qmpi_elf_search(&self.image, cli_library_path(), names[kind][i]);
        struct program_object object =
            found ? program_object_read(found, false) : (struct program_object){.problem = NULL};
        if (!object.mpi_library || object.kind != kind) {
            free(found);
            found = NULL;
        }
        free(object.problem);
    }
    qmpi_elf_file_close(&self);
    return found;
}

/* Reports the installed builds for other MPIs, which `qmpi run` uses for the programs of these
 * MPIs. Returns whether there are any such builds. */
static bool look_at_other_builds(void)
{
    bool any = false;
    for (int kind = 0; kind < QMPI_MPI_KINDS; kind++) {
        const struct qmpi_mpi_description *mpi = &qmpi_mpi_descriptions[kind];
        char *library = strcmp(mpi->build, QMPI_MPI) ? cli_build_find_library(mpi->build) : NULL;
        if (!library)
            continue;
        char *found = find_mpi_library((enum qmpi_mpi_kind)kind);
        doctor_ok("libqmpi for %s: %s", mpi->build, library);
        if (found)
            doctor_ok("library of %s: %s", mpi->name, found);
        else
            doctor_note("the dynamic loader does not find a library of %s", mpi->name);
        any = true;
        free(found);
        free(library);
    }
    return any;
}

static void look_at_c_library(void)
{
    doctor_ok("C library: glibc %s", gnu_get_libc_version());
}

static void look_at_library(void)
{
    const char *library = cli_library_path();
    const char *tools = cli_tools_folder();
    if (qmpi_loadable_path_obstacle(library))
        doctor_wrong("%s cannot be preloaded: the dynamic loader does not accept a path with %s\n"
                     "hint: install qmpi under another path",
                     library, qmpi_loadable_path_obstacle(library));
    else
        doctor_ok("libqmpi %s for %s: %s", QMPI_VERSION, QMPI_MPI, library);
    if (access(tools, R_OK | X_OK) == 0)
        doctor_ok("installed tools: %s", tools);
    else
        doctor_wrong("the directory of the installed tools is missing: %s\n"
                     "hint: reinstall qmpi",
                     tools);
}

static void look_at_mpi(void)
{
    void *handle = dlopen(QMPI_MPI_SONAME, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        doctor_note("the dynamic loader does not find %s, for which this libqmpi was built\n"
                    "%s\n"
                    "hint: install it or set LD_LIBRARY_PATH, unless the program brings its own "
                    "MPI library",
                    QMPI_MPI_SONAME, dlerror());
        return;
    }
    struct link_map *map = NULL;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    void *function = dlsym(handle, "PMPI_Get_library_version");
    if (function)
        ((int (*)(char *, int *))(uintptr_t)function)(version, &length);
    cli_shorten_version(version);
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    doctor_ok("%s: %s", *version ? version : "MPI library", map ? map->l_name : QMPI_MPI_SONAME);
}

static bool has_build(const char *mpi)
{
    char *library = cli_build_find_library(mpi);
    free(library);
    return library != NULL;
}

/* Reports the MPI to which `mpiexec` belongs, because `mpiexec` starts only programs of this MPI.
 * If `only_build` is false, another build may be installed for this MPI. */
static void look_at_launcher(bool only_build)
{
    const char *wanted = cli_mpi_of_library();
    char *found = program_find("mpiexec");
    char *path = found ? realpath(found, NULL) : NULL;
    const char *mpi = path ? cli_mpi_of_launcher(path) : NULL;
    const char *name = mpi && !strcmp(mpi, "mpich") ? "MPICH" : "Open MPI";
    if (!path)
        doctor_note("mpiexec not found in PATH\nhint: add the directory of the MPI launcher to "
                    "PATH, or start the launcher by its full path");
    else if (mpi && (!wanted || !strcmp(mpi, wanted) || (!only_build && has_build(mpi))))
        doctor_ok("mpiexec belongs to %s: %s", name, path);
    else if (mpi)
        doctor_note("mpiexec belongs to %s (%s), but this qmpi is for %s: each process would start "
                    "as a singleton (rank 0 of 1)\n"
                    "hint: launch with mpiexec.%s",
                    name, path, wanted, wanted);
    free(path);
    free(found);
}

/* ---- Variables ------------------------------------------------------------------------------- */

/* The variables that are neither among those of the stack nor in the table of settings. */
static const char *const other_variables[] = {"QMPI_CONFIG", "QMPI_DISABLE", "QMPI_VALIDATE",
                                              "QMPI_RUN"};
enum {
    OTHER_VARIABLES = sizeof other_variables / sizeof *other_variables,
    FIRST_OTHER = QMPI_START_VARIABLES + QMPI_CONFIG_SETTINGS,
    VARIABLES = FIRST_OTHER + OTHER_VARIABLES
};

/* Returns the name of a variable of qmpi, by an index from 0 to VARIABLES - 1. */
static const char *variable_of(int index)
{
    return index < QMPI_START_VARIABLES ? qmpi_start_variables[index]
           : index < FIRST_OTHER        ? qmpi_config_names[index - QMPI_START_VARIABLES].variable
                                        : other_variables[index - FIRST_OTHER];
}

static bool is_known_variable(const char *name, size_t length)
{
    for (int i = 0; i < VARIABLES; i++) {
        if (strlen(variable_of(i)) == length && !memcmp(variable_of(i), name, length))
            return true;
    }
    return false;
}

static const char *variable_at(const void *prefix, int index)
{
    const char *name = index < VARIABLES ? variable_of(index) : NULL;
    return !name ? NULL : !strncmp(name, prefix, strlen(prefix)) ? name + strlen(prefix) : "";
}

/* Reports a variable whose name is similar to that of a variable of qmpi. Other variables may
 * belong to other software. */
static void look_at_unknown(const char *entry)
{
    static const char prefix[] = "QMPI_";
    const size_t length = strcspn(entry, "=");
    if (strncmp(entry, prefix, sizeof prefix - 1) != 0 || is_known_variable(entry, length))
        return;
    char *name = qmpi_copy_part(entry, length);
    const char *similar = qmpi_text_suggest(name + sizeof prefix - 1, variable_at, prefix);
    if (similar)
        doctor_wrong("%s is not a variable of qmpi and has no effect\nhint: did you mean %s%s?",
                     name, prefix, similar);
    free(name);
}

/* Reports directories in a list that cannot be read. `where` names the variable or the line that
 * contains the list. */
static void look_at_folders(const char *where, const char *list)
{
    for (char *folder; (folder = cli_next_part(&list, ":"));) {
        if (access(folder, R_OK | X_OK) != 0 || !program_is_directory(folder))
            doctor_wrong("%s: the directory %s does not exist or cannot be read\n"
                         "hint: correct or remove it",
                         where, folder);
        free(folder);
    }
}

/* Reports the values of settings that are invalid in the environment. */
static void look_at_settings(void)
{
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        const char *variable = qmpi_config_names[i].variable, *value = qmpi_getenv(variable);
        char *problem = value ? qmpi_config_refuse_value(i, variable, value) : NULL;
        if (problem)
            doctor_wrong("%-s", problem);
        free(problem);
    }
}

/* Prints the variables that are set, and tells which of them have no effect because another one
 * overrides them. Also reports misspelled variables. */
static void look_at_variables(void)
{
    struct qmpi_stack stack;
    int set = 0;
    qmpi_stack_read(&stack);
    for (int i = 0; i < VARIABLES; i++) {
        const char *name = variable_of(i), *value = secure_getenv(name);
        if (!value)
            continue;
        const bool idle = i < QMPI_START_VARIABLES && strcmp(name, stack.variable) != 0;
        char *shown = qmpi_message_shorten(value);
        doctor_note("%s=%s%s%s%s", name, shown, idle ? " (ignored: " : "",
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
    char *shown = qmpi_message_shorten(wrong->text);
    if (wrong->line)
        doctor_wrong("%s, line %d '%s': %-s", path, wrong->line, shown, wrong->problem);
    else
        doctor_wrong("%s: %-s", path, wrong->problem);
    free(shown);
}

static const char *name_owner(const struct qmpi_config_file *file)
{
    return file->scope == QMPI_SCOPE_USER   ? "the user"
           : file->scope == QMPI_SCOPE_SITE ? "the site"
                                            : qmpi_settings_origin(file);
}

/* Tools of named stacks are not counted, because they are layers only if the name of the stack is
 * used. */
static void report_contents(const struct qmpi_config_file *file)
{
    const struct qmpi_config *config = &file->config;
    const int stacks = config->section_count - QMPI_SECTION_STACKS;
    int tools = 0;
    for (int i = 0; i < config->tools.count; i++)
        tools += config->tools.entries[i].section < QMPI_SECTION_STACKS;
    char *names = stacks == 1 ? qmpi_copy(", 1 named stack")
                  : stacks    ? qmpi_format(", %d named stacks", stacks)
                              : qmpi_copy("");
    doctor_ok("configuration file of %s: %s, %d tool%s%s", name_owner(file), file->path, tools,
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
        doctor_wrong("%s: %-s", qmpi_settings_origin(file), file->unreadable);
        return;
    }
    report_contents(file);
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        if (config->settings[i])
            look_at_setting(file, i);
    }
    for (int i = 0; i < config->problem_count; i++)
        look_at_line(file->path, &config->problems[i]);
}

static void note_idle_pattern(void *data, const char *pattern)
{
    (void)data;
    char *shown = qmpi_message_shorten(pattern);
    doctor_note("QMPI_DISABLE: no layer matches '%s'", shown);
    free(shown);
}

static void look_at_config(void)
{
    struct qmpi_stack stack;
    int count;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    char *site = qmpi_config_site_folder(), *real = realpath(site, NULL);
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
    qmpi_stack_each_idle_pattern(&stack, note_idle_pattern, NULL);
    qmpi_stack_free(&stack);
}

/* ---- LD_PRELOAD ------------------------------------------------------------------------------ */

/* Returns whether a file is a libqmpi of the installation to which this command belongs. */
static bool is_installed_library(const char *real)
{
    bool is = false;
    for (int kind = 0; kind < QMPI_MPI_KINDS; kind++) {
        char *library = cli_build_find_library(qmpi_mpi_descriptions[kind].build);
        is = is || (library && !strcmp(real, library));
        free(library);
    }
    return is;
}

/* Returns whether LD_PRELOAD contains the libqmpi-any of this installation. It adds the libqmpi for
 * the MPI of each program to LD_PRELOAD, which the programs that this program starts inherit. */
static bool lists_own_any(void)
{
    const char *list = getenv("LD_PRELOAD");
    bool lists = false;
    for (char *name; !lists && (name = cli_next_part(&list, " :"));) {
        lists = !strcmp(qmpi_text_base_name(name), "libqmpi-any.so") &&
                !cli_preload_is_foreign_any(name, cli_library_path());
        free(name);
    }
    return lists;
}

/* Returns the file for an entry of LD_PRELOAD, or NULL if it was not preloaded. The caller frees
 * it. The libraries of other installations were preloaded, but this command has been executed again
 * without them (cli_use_own_library). */
static char *find_preloaded(const char *name)
{
    char *path = program_find_preloaded(name);
    if (path || !strchr(name, '/'))
        return path;
    struct program_object object = program_object_read(name, false);
    const bool left_out =
        !object.problem && (object.qmpi || cli_preload_is_foreign_any(name, cli_library_path()));
    free(object.problem);
    return left_out ? qmpi_copy(name) : NULL;
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
    struct program_object object = program_object_read(path, false);
    char *real = realpath(path, NULL);
    if (object.qmpi && real && is_installed_library(real) && lists_own_any())
        doctor_ok("preloaded: %s, one of those among which libqmpi-any chooses", path);
    else if (object.qmpi && real && strcmp(real, cli_library_path()) != 0)
        doctor_wrong("LD_PRELOAD contains another libqmpi: %s\n"
                     "hint: remove it; `qmpi run` leaves it out, and preloads %s itself",
                     real, cli_library_path());
    else if (cli_preload_is_foreign_any(name, cli_library_path()))
        doctor_note("LD_PRELOAD contains a libqmpi-any of another installation, without whose "
                    "tools `qmpi run` starts programs: %s",
                    path);
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
    for (char *name; (name = cli_next_part(&list, " :"));) {
        look_at_preloaded(name);
        free(name);
    }
}

static void look_at_environment(void)
{
    look_at_variables();
    look_at_folders(cli_tool_path_origin(), qmpi_getenv("QMPI_TOOL_PATH"));
    look_at_settings();
    look_at_config();
    look_at_preload();
}

/* ---- The command ----------------------------------------------------------------------------- */

int cli_doctor(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_stack_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options, parse_doctor_option, "[-- PROGRAM [ARGUMENT...]]", doc, children, NULL, NULL};
    const char *program = NULL;
    cli_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &program);
    doctor_heading("qmpi and MPI");
    look_at_library();
    look_at_c_library();
    look_at_mpi();
    look_at_launcher(!look_at_other_builds());
    doctor_heading("environment");
    look_at_environment();
    doctor_heading("stack");
    doctor_look_at_stack();
    if (program) {
        doctor_heading("program");
        doctor_look_at_program(program);
    }
    const int wrong = doctor_count_wrong();
    if (wrong)
        printf("%d problem%s found\n", wrong, wrong == 1 ? "" : "s");
    else
        printf("no problems found\n");
    return wrong ? STATUS_WRONG : 0;
}
