/* SPDX-License-Identifier: MIT */
/* qmpi new writes a small, complete tool with its source, build file, README and a test. The tool
 * does not depend on the source tree of qmpi, because its build finds qmpi by qmpi.pc. */
#define _GNU_SOURCE

#include "cli/cli.h"
#include "cli/program.h"
#include "generate/build.h"
#include "loader/loader.h"
#include "util/util.h"

#include <argp.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_OBSERVER = 256, KEY_CXX };

struct new_tool {
    const char *folder;
    const char *name; /* the name of the tool, which is the last part of `folder` */
    bool observer, cxx;
};

static const struct argp_option options[] = {
    {"observer", KEY_OBSERVER, NULL, 0,
     "use two callbacks around every MPI function, instead of one interceptor per function", 0},
    {"cxx", KEY_CXX, NULL, 0, "write the tool in C++", 0},
    {0},
};

static const char doc[] =
    "Create a small, complete tool in a new directory NAME: its source, a meson.build, a README "
    "and a test.\vNAME may be a path; its last component is the name of the tool. A name consists "
    "of letters, digits, - and _.\n"
    "\n"
    "  qmpi new mine\n"
    "  qmpi new --observer --cxx tools/mine";

/* The files of a tool, with their templates. */
static const struct {
    const char *template, *name; /* A NULL name stands for the tool's name plus .json. */
    bool executable;
} files[] = {
    {"meson.build.in", "meson.build", false}, {"README.md.in", "README.md", false},
    {"manifest.json.in", NULL, false},        {"smoke.c", "smoke.c", false},
    {"smoke.sh", "smoke.sh", true},           {"gitignore", ".gitignore", false},
};

static const char *const sources[2][2] = {{"tool.c", "tool.cpp"}, {"observer.c", "observer.cpp"}};

/* ---- The command line ------------------------------------------------------------------------ */

static error_t parse_new_option(int key, char *argument, struct argp_state *state)
{
    struct new_tool *tool = state->input;
    switch (key) {
    case KEY_OBSERVER:
        tool->observer = true;
        return 0;
    case KEY_CXX:
        tool->cxx = true;
        return 0;
    case ARGP_KEY_ARG:
        if (tool->folder)
            cli_misuse(state, "unexpected argument '%s': give only one name", argument);
        tool->folder = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        cli_misuse(state, "missing name: qmpi new [OPTION...] NAME");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static _Noreturn void refuse_tool(const char *name, const char *reason, const char *hint)
{
    char *shown = qmpi_message_shorten(name);
    qmpi_printf("qmpi new '%s': %s\nhint: %s", shown, reason, hint);
    exit(2);
}

static bool is_plain(const char *name)
{
    if (!isalpha((unsigned char)*name) || strlen(name) > 64)
        return false;
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && *name != '-' && *name != '_')
            return false;
    }
    return true;
}

/* Returns whether the build file or Meson uses the name for a target of its own. */
static bool is_reserved(const char *name)
{
    static const char *const reserved[] = {
        "all",     "benchmark", "build",      "clean", "clean-ctlist", "coverage", "dist",
        "install", "phony",     "scan-build", "smoke", "test",         "uninstall"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (!strcmp(reserved[i], name))
            return true;
    }
    return !strncmp(name, "meson", 5) || !strncmp(name, "coverage-", 9);
}

static void check_name(struct new_tool *tool)
{
    char *folder = qmpi_copy(tool->folder);
    for (size_t length = strlen(folder); length > 1 && folder[length - 1] == '/';)
        folder[--length] = '\0';
    tool->folder = folder;
    tool->name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
    if (!is_plain(tool->name))
        refuse_tool(
            *tool->name ? tool->name : folder, "not a valid tool name",
            "start with a letter, followed by letters, digits, - and _; use at most 64 characters");
    if (is_reserved(tool->name))
        refuse_tool(tool->name, "this name is reserved by the build system", "choose another name");
    char *folders[] = {qmpi_copy(cli_tools_folder()), qmpi_library_abi_folder(cli_tools_folder())};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *installed = qmpi_format("%s/%s.so", folders[i] ? folders[i] : "", tool->name);
        if (access(installed, F_OK) == 0)
            refuse_tool(tool->name, "a tool of this name is already installed",
                        "choose another name");
        free(installed);
        free(folders[i]);
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_empty(const char *folder)
{
    DIR *stream = opendir(folder);
    int entries = 0;
    while (stream && readdir(stream))
        entries++;
    if (stream)
        closedir(stream);
    return stream && entries <= 2; /* The entries are `.` and `..`. */
}

static void make_folder(const char *folder)
{
    const int error = mkdir(folder, 0777) == 0 ? 0 : errno;
    if (!error || (error == EEXIST && is_empty(folder)))
        return;
    if (error == EEXIST)
        refuse_tool(folder, "it already exists and is not an empty directory",
                    "choose another name, or remove it");
    refuse_tool(folder, strerror(error),
                "give a name in an existing directory that you can write to");
}

/* Returns the value of the placeholder with which a text begins, and stores the length of the
 * placeholder. Returns NULL if the text does not begin with one. */
static const char *value_of(const struct new_tool *tool, const char *source, const char *text,
                            size_t *length)
{
    const char *does =
        tool->observer
            ? "counts the calls of an MPI program that send data"
            : "counts the messages that an MPI program sends with `MPI_Send` and `MPI_Isend`";
    const char *compiled =
        tool->observer
            ? "# An observer is compiled for the standard ABI of MPI: one file for the programs of "
              "all "
              "MPI libraries.\n"
              "qmpi_abi = dependency('qmpi-abi')\n\n"
              "# The name of the library is the tool's. It is installed among qmpi's own tools.\n"
            : "# The name of the library is the tool's. It is installed among qmpi's own tools.\n";
    const struct {
        const char *placeholder, *value;
    } values[] = {{"@NAME@", tool->name},
                  {"@SOURCE@", source},
                  {"@PACKAGE@", "qmpi" QMPI_SUFFIX},
                  {"@DOES@", does},
                  {"@DESCRIPTION@",
                   tool->observer
                       ? "counts the calls that send data, and their bytes"
                       : "counts the messages sent by MPI_Send and MPI_Isend, and their bytes"},
                  {"@COUNTED@", tool->observer ? "calls that send" : "messages of"},
                  {"@COMPILED@", compiled},
                  {"@DEPENDENCY@", tool->observer ? "qmpi_abi" : "qmpi"},
                  {"@LANGUAGES@", tool->cxx ? "'c', 'cpp'" : "'c'"},
                  /* This macro turns off the C++ bindings in Open MPI's mpi.h, which need a
                   * library of their own. */
                  {"@STANDARD@", tool->cxx ? "'c_std=c11', 'cpp_std=c++17',\n"
                                             "    'cpp_args=-DOMPI_SKIP_MPICXX=1'"
                                           : "'c_std=c11'"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        *length = strlen(values[i].placeholder);
        if (!strncmp(text, values[i].placeholder, *length))
            return values[i].value;
    }
    return NULL;
}

static const char *const *find_template(const char *name)
{
    const struct cli_template *template = cli_templates;
    while (strcmp(template->name, name) != 0)
        template ++;
    return template->lines;
}

static void write_file(const struct new_tool *tool, const char *source, const char *template,
                       const char *name, bool executable)
{
    const mode_t mask = umask(0), mode = 0777 & ~mask;
    umask(mask);
    char *path = qmpi_format("%s/%s", tool->folder, name);
    FILE *file = fopen(path, "wx");
    for (const char *const *line = find_template(template); file && *line; line++) {
        for (const char *text = *line; *text;) {
            size_t length;
            const char *value = *text == '@' ? value_of(tool, source, text, &length) : NULL;
            if (value)
                fputs(value, file);
            else
                fputc(*text, file);
            text += value ? length : 1;
        }
    }
    const bool written = file && !ferror(file);
    if (!file || fclose(file) || !written)
        refuse_tool(
            path, strerror(errno),
            "free disk space and remove the incomplete directory, or give a name in a directory "
            "with free space");
    if (executable && chmod(path, mode) != 0)
        refuse_tool(path, strerror(errno), "give a name in a directory that you can write to");
    free(path);
}

/* ---- Further steps --------------------------------------------------------------------------- */

/* Returns the directory of the qmpi.pc of this command's library, or NULL if it is not found. The
 * caller frees it. */
static char *find_pkg_config(void)
{
    static const char *const places[][2] = {
        {"pkgconfig", "qmpi" QMPI_SUFFIX ".pc"},
        {"../meson-uninstalled", "qmpi" QMPI_SUFFIX "-uninstalled.pc"}};
    const char *library = cli_library_path();
    const int length = (int)(strrchr(library, '/') - library);
    for (int i = 0; i < 2; i++) {
        char *file = qmpi_format("%.*s/%s/%s", length, library, places[i][0], places[i][1]);
        const bool there = access(file, R_OK) == 0;
        free(file);
        if (there)
            return qmpi_format("%.*s/%s", length, library, places[i][0]);
    }
    return NULL;
}

/* Returns the name of this command if PATH leads to it, or else its path. The caller frees it. */
static char *name_command(void)
{
    char *self = realpath("/proc/self/exe", NULL);
    char *found = program_find("qmpi" QMPI_SUFFIX);
    char *real = found ? realpath(found, NULL) : NULL;
    const bool in_path = self && real && !strcmp(self, real);
    free(found);
    free(real);
    if (!in_path && self)
        return self;
    free(self);
    return qmpi_copy("qmpi" QMPI_SUFFIX);
}

/* Returns Debian's name for the launcher of this MPI if PATH leads to it, because `mpiexec` may
 * belong to another MPI. Otherwise, returns "mpiexec". The caller frees the name. */
static char *name_launcher(void)
{
    const char *mpi = cli_mpi_of_library();
    char *name = qmpi_format("mpiexec.%s", mpi ? mpi : "");
    char *found = program_find(name);
    if (!found) {
        free(name);
        name = qmpi_copy("mpiexec");
    }
    free(found);
    return name;
}

static void print_next(const struct new_tool *tool, const char *source)
{
    char *folder = find_pkg_config();
    char *real = folder ? realpath(folder, NULL) : NULL;
    char *option = real ? qmpi_format("--pkg-config-path=%s", real) : NULL;
    char *quoted_option = option ? cli_quote(option) : NULL;
    char *quoted_folder = cli_quote(tool->folder);
    char *command = name_command(), *launcher = name_launcher();
    char *quoted_command = cli_quote(command);
    cli_print("created %s; the source of the tool is %s\n"
              "\n"
              "  cd %s%s\n"
              "  meson setup build%s%s\n"
              "  meson test -C build\n"
              "  %s -n 2 %s run --tool-path build -t %s -- build/smoke\n",
              tool->folder, source, *tool->folder == '-' ? "-- " : "", quoted_folder,
              option ? " " : "", option ? quoted_option : "", launcher, quoted_command, tool->name);
    free(quoted_command);
    free(launcher);
    free(command);
    free(quoted_folder);
    free(quoted_option);
    free(option);
    free(real);
    free(folder);
}

int cli_new(int argc, char **argv)
{
    static const struct argp argp = {options, parse_new_option, "NAME", doc, NULL, NULL, NULL};
    struct new_tool tool = {.folder = NULL};
    cli_parse(&argp, argc, argv, 0, NULL, &tool);
    check_name(&tool);
    make_folder(tool.folder);
    char *source = qmpi_format("%s.%s", tool.name, tool.cxx ? "cpp" : "c");
    write_file(&tool, source, sources[tool.observer][tool.cxx], source, false);
    char *manifest = qmpi_format("%s.json", tool.name);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_file(&tool, source, files[i].template, files[i].name ? files[i].name : manifest,
                   files[i].executable);
    free(manifest);
    print_next(&tool, source);
    free(source);
    return 0;
}
