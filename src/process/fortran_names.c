/* SPDX-License-Identifier: MIT */
/* See fortran_names.h. */
#define _GNU_SOURCE
#include "process/fortran_names.h"

#include "functions/functions.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static size_t without_suffix(char *name, size_t length, const char *suffix)
{
    const size_t suffix_length = strlen(suffix);
    if (length > suffix_length && !strcmp(name + length - suffix_length, suffix))
        name[length -= suffix_length] = '\0';
    return length;
}

int qmpi_procedures_function(const char *name)
{
    char function[80];
    size_t length = strlen(name);
    if (tolower((unsigned char)name[0]) != 'm' || strncasecmp(name, "mpi_", 4) != 0 ||
        length >= sizeof function || qmpi_name_find(name) >= 0)
        return -1;
    for (size_t i = 0; i <= length; i++) {
        const int letter = (unsigned char)name[i];
        function[i] = (char)(i < 3 || i == 4 ? toupper(letter) : tolower(letter));
    }
    while (length > 4 && function[length - 1] == '_')
        function[--length] = '\0';
    length = without_suffix(function, length, "_f08");
    without_suffix(function, length, "_f08ts");
    return qmpi_name_find(function);
}

bool qmpi_procedures_named(const char *name)
{
    return qmpi_procedures_function(name) >= 0;
}

bool qmpi_procedures_defined(const struct qmpi_elf_image *image)
{
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            qmpi_procedures_named(qmpi_elf_string(image, image->symbols[i].st_name)))
            return true;
    }
    return false;
}
