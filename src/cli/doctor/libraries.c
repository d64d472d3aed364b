/* SPDX-License-Identifier: MIT */
/* See doctor.h: which libraries the dynamic loader would give a program; its code does not run. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "util/util.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The dynamic loader that the program asks for; NULL: none. To be freed. */
static char *read_interpreter(const char *path)
{
    char *interpreter = NULL;
    ElfW(Ehdr) header;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const bool whole = pread(descriptor, &header, sizeof header, 0) == (ssize_t)sizeof header;
    for (int i = 0; whole && !interpreter && i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        const off_t at = (off_t)(header.e_phoff + (size_t)i * sizeof segment);
        if (pread(descriptor, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            break;
        if (segment.p_type != PT_INTERP || segment.p_filesz > 4096)
            continue;
        interpreter = qmpi_allocate(segment.p_filesz + 1, 1);
        if (pread(descriptor, interpreter, segment.p_filesz, (off_t)segment.p_offset) < 0)
            *interpreter = '\0';
    }
    close(descriptor);
    return interpreter;
}

/* A line of the loader's list: `NAME => PATH (ADDRESS)`, `NAME => not found`, `PATH (ADDRESS)`. */
static void read_line(char *line, doctor_library *add, void *data)
{
    char *arrow = strstr(line, " => ");
    char *path = arrow ? arrow + 4 : line;
    char *address = strstr(path, " (0x");
    if (arrow)
        *arrow = '\0';
    if (address)
        *address = '\0';
    if (arrow && !strcmp(path, "not found"))
        add(data, line, NULL);
    else if (*path == '/')
        add(data, line, path);
}

/* A library is there, but without a version of its symbols that another needs: it says so and goes
 * on, where a run ends. */
static char *find_missing_version(const char *path, const struct doctor_child *child)
{
    const char *line = child->errors;
    while (*line) {
        const int length = (int)strcspn(line, "\n");
        const char *said = strstr(line, "' not found (required by ");
        if (said && said < line + length)
            return qmpi_message("the dynamic loader cannot load %s and its dependencies: %.*s\n"
                                "hint: install the required version, or rebuild the library that "
                                "requires it on this system",
                                path, length, line);
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* It says what it cannot load, or does not survive a library that is cut. */
static char *describe_failure(const char *path, const struct doctor_child *child)
{
    if (!child->status)
        return find_missing_version(path, child);
    const char *said = strstr(child->errors, "error while loading shared libraries: ");
    const char *reason = said                         ? strchr(said, ':') + 2
                         : WIFSIGNALED(child->status) ? strsignal(WTERMSIG(child->status))
                                                      : "it gives no reason";
    return qmpi_message("the dynamic loader cannot load %s and its dependencies: %.*s\n"
                        "hint: reinstall the damaged library",
                        path, (int)strcspn(reason, "\n"), reason);
}

/* Asks the program's own loader: it alone knows all rules by which libraries are found. */
char *doctor_libraries(const char *path, doctor_library *add, void *data)
{
    char *interpreter = read_interpreter(path);
    /* What ldd does, for a loader that is known to understand it: others would run the program. */
    const char *const command[] = {interpreter, path, NULL};
    const char *const variables[] = {"LD_TRACE_LOADED_OBJECTS", "1", NULL};
    if (!interpreter || !strstr(interpreter, "/ld-linux")) {
        char *problem =
            qmpi_message("%s uses the dynamic loader %s, but qmpi requires the one of the GNU C "
                         "library\nhint: build the program for the GNU C library",
                         path, interpreter ? interpreter : "(none)");
        free(interpreter);
        return problem;
    }
    struct doctor_child child = doctor_child_run(command, variables);
    char *problem = describe_failure(path, &child);
    char *rest = child.output, *line;
    while ((line = strsep(&rest, "\n"))) {
        if (*line)
            read_line(line + strspn(line, "\t "), add, data);
    }
    doctor_child_free(&child);
    free(interpreter);
    return problem;
}

/* ---- The MPI library among them -------------------------------------------------------------- */

/* By what it exports: names vary. */
static void note_mpi(void *data, const char *name, const char *path)
{
    char **found = data;
    (void)name;
    if (*found || !path)
        return;
    const struct doctor_object object = doctor_object_read(path, false);
    if (object.mpi_library)
        *found = qmpi_copy(path);
    free(object.problem);
}

char *doctor_find_mpi(const char *path)
{
    char *found = NULL;
    free(doctor_libraries(path, note_mpi, &found));
    return found;
}
