/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as the library file of a tool. The reader must refuse the file or return a
 * view that can be read to its end.
 */
#define _GNU_SOURCE
#include "elf/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(const struct qmpi_elf_image *image)
{
    size_t sum = 0;
    for (size_t i = 0; i < image->symbol_count; i++) {
        sum += qmpi_elf_defines(&image->symbols[i]);
        sum += strlen(qmpi_elf_string(image, image->symbols[i].st_name));
    }
    for (int i = 0; qmpi_elf_needed(image, i); i++)
        sum += strlen(qmpi_elf_needed(image, i));
    const char *soname = qmpi_elf_soname(image);
    return sum + (soname ? strlen(soname) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int descriptor = -1;
    static char path[64];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, data, size, 0) != (ssize_t)size)
        abort();
    struct qmpi_elf_file file;
    if (!qmpi_elf_file_open(path, &file)) {
        if (walk(&file.image) == SIZE_MAX) /* never true; it makes the compiler keep the reads */
            abort();
        qmpi_elf_file_close(&file);
    }
    return 0;
}
