/* SPDX-License-Identifier: MIT */
/* What `qmpi run` can tell of a program before it becomes it: whether preloading reaches it at all.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "util/util.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

char *cli_program_find(const char *name)
{
    if (strchr(name, '/'))
        return qmpi_copy(name);
    const char *list = getenv("PATH");
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        char *path = qmpi_format("%.*s%s%s", (int)length, list, length ? "/" : "./", name);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
        list += length + (list[length] == ':');
    }
    return NULL;
}

/* An ELF program without an interpreter is not loaded by the dynamic loader. */
static bool is_static(int descriptor)
{
    ElfW(Ehdr) header;
    if (pread(descriptor, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)))
        return false;
    for (int i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        const off_t at = (off_t)(header.e_phoff + (size_t)i * sizeof segment);
        if (pread(descriptor, &segment, sizeof segment, at) != (ssize_t)sizeof segment ||
            segment.p_type == PT_INTERP)
            return false;
    }
    return true;
}

char *cli_program_obstacle(const char *path)
{
    struct stat status;
    char *obstacle = NULL;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        if (is_static(descriptor))
            obstacle = qmpi_message("%s is statically linked: nothing can be preloaded, and it "
                                    "runs without tools\nhint: link it with libqmpi.a",
                                    path);
        else if ((status.st_mode & (S_ISUID | S_ISGID)) ||
                 fgetxattr(descriptor, "security.capability", NULL, 0) > 0)
            obstacle = qmpi_message("%s is a privileged program: nothing is preloaded, the "
                                    "variables of qmpi are ignored, and it runs without tools\n"
                                    "hint: run it without privileges",
                                    path);
    }
    if (descriptor >= 0)
        close(descriptor);
    return obstacle;
}

void cli_program_warn(const char *name)
{
    char *path = cli_program_find(name);
    char *obstacle = path ? cli_program_obstacle(path) : NULL;
    char *hint = obstacle ? strstr(obstacle, "\nhint: ") : NULL;
    if (hint)
        qmpi_printf("%.*s\n  %s", (int)(hint - obstacle), obstacle, hint + 1);
    free(obstacle);
    free(path);
}
