/* SPDX-License-Identifier: MIT */
/* ELF objects as files and as loaded, and changes to them. */
#ifndef QMPI_ELF_ELF_H
#define QMPI_ELF_ELF_H

/* Files, and how the dynamic loader treats them. */
#include "elf/copy.h"
#include "elf/image.h"
#include "elf/loadable.h"
#include "elf/search.h"

/* Loaded objects, and changes to them. */
#include "elf/loaded.h"
#include "elf/rewrite.h"

#endif
