/* SPDX-License-Identifier: MIT */
/* See debuglink.h. */
#define _GNU_SOURCE
#include "symbols/debuglink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where gdb and libdwfl look too. */
static const char debug_folder[] = "/usr/lib/debug";

/* The CRC-32 that .gnu_debuglink holds: reflected, polynomial 0x04c11db7. */
static uint32_t add_checksum(uint32_t checksum, const unsigned char *bytes, size_t count)
{
    checksum = ~checksum;
    for (size_t i = 0; i < count; i++) {
        checksum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            checksum = checksum >> 1 ^ (checksum & 1 ? 0xedb88320 : 0);
    }
    return ~checksum;
}

static bool has_checksum(int descriptor, uint32_t wanted)
{
    unsigned char bytes[16384];
    uint32_t checksum = 0;
    off_t at = 0;
    ssize_t count;
    while ((count = pread(descriptor, bytes, sizeof bytes, at)) > 0) {
        checksum = add_checksum(checksum, bytes, (size_t)count);
        at += count;
    }
    return count == 0 && checksum == wanted;
}

/* Takes `path` over, which may be NULL; -1: it is not the file that is sought. A checksum of 0:
 * libdwfl itself looks whether the file is the right one. */
static int try(char *path, GElf_Word checksum, char **found)
{
    const int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor >= 0 && (!checksum || has_checksum(descriptor, checksum))) {
        *found = path;
        return descriptor;
    }
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    return -1;
}

static char *make_path(const char *folder, const char *subdirectory, const char *name)
{
    char *path;
    return asprintf(&path, "%s%s/%s", folder, subdirectory, name) < 0 ? NULL : path;
}

/* Beside `file`; where that is a symbolic link, its target has been tried before. */
static int find_beside(const char *file, const char *link, GElf_Word checksum, char **found)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");
    int descriptor = -1;
    if (!folder)
        return -1;
    char *beside = make_path(folder, "", link);
    /* A link to the file itself is none: a debug file may keep the section of its module. */
    if (beside && strcmp(beside, file) != 0)
        descriptor = try(beside, checksum, found);
    else
        free(beside);
    if (descriptor < 0)
        descriptor = try(make_path(folder, "/.debug", link), checksum, found);
    if (descriptor < 0 && *folder == '/')
        descriptor = try(make_path(debug_folder, folder, link), checksum, found);
    free(folder);
    return descriptor;
}

int profile_debug_file_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                            const char *file, const char *link, GElf_Word checksum, char **found)
{
    int descriptor =
        dwfl_build_id_find_debuginfo(module, data, name, base, file, link, checksum, found);
    if (descriptor >= 0 || !link || !*link)
        return descriptor;
    if (*link == '/') {
        descriptor = try(strdup(link), checksum, found);
    } else if (file) {
        char *target = realpath(file, NULL);
        descriptor = target ? find_beside(target, link, checksum, found) : -1;
        if (descriptor < 0 && (!target || strcmp(target, file) != 0))
            descriptor = find_beside(file, link, checksum, found);
        free(target);
    }
    if (descriptor < 0)
        errno = 0; /* not found is not an error */
    return descriptor;
}
