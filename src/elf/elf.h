/* SPDX-License-Identifier: MIT */
/* ELF objects as files and as loaded, and changes to them. */
#ifndef QMPI_ELF_ELF_H
#define QMPI_ELF_ELF_H

/* Reading files, and the searches of the dynamic loader. */
#include "elf/file.h"
#include "elf/image.h"
#include "elf/ld_cache.h"
#include "elf/library_search.h"
#include "elf/loadable.h"

/* Loaded objects. */
#include "elf/held.h"
#include "elf/interposition.h"
#include "elf/loaded.h"
#include "elf/walk.h"

/* Changing objects. */
#include "elf/copy.h"
#include "elf/define.h"
#include "elf/pages.h"
#include "elf/reloc.h"

#endif
