/* SPDX-License-Identifier: MIT */
/* See frame_rule.h. Like frame_table.c, this code expects that tables may be damaged. */
#define _GNU_SOURCE
#include "sites/frame_rule.h"

#include "sites/arch/registers.h"
#include "sites/modules.h"
#include "util/util.h"

#include <dwarf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Part of the ABI of libgcc_s. The tables of code that is generated at run time are registered
 * there. */
struct dwarf_eh_bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *address, struct dwarf_eh_bases *bases);

enum { PAGE = 4096 /* the smallest size of a page of memory */ };

/* Returns the program headers of an object, or NULL if they are damaged or not at its beginning. */
static const ElfW(Phdr) * find_headers(uintptr_t begin, int *count)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)begin;
    *count = header->e_phnum;
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                   header->e_phentsize == sizeof(ElfW(Phdr)) &&
                   header->e_phoff % sizeof(void *) == 0 && header->e_phoff < PAGE &&
                   header->e_phnum <= (PAGE - header->e_phoff) / sizeof(ElfW(Phdr))
               ? (const ElfW(Phdr) *)(begin + header->e_phoff)
               : NULL;
}

struct tables {
    struct qmpi_frame_bytes segment; /* the segment that contains the tables */
    struct qmpi_frame_bytes index;   /* .eh_frame_hdr, which lists the tables by address */
};

static bool find_tables(uintptr_t begin, struct tables *tables)
{
    int count;
    const ElfW(Phdr) *headers = find_headers(begin, &count), *first = NULL, *index = NULL;
    for (int i = 0; headers && i < count; i++) {
        if (headers[i].p_type == PT_LOAD && !first)
            first = &headers[i];
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            index = &headers[i];
    }
    for (int i = 0; index && first && i < count; i++) {
        const ElfW(Phdr) *segment = &headers[i];
        const uintptr_t base = begin - (first->p_vaddr & ~(uintptr_t)(PAGE - 1));
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R) ||
            index->p_vaddr < segment->p_vaddr ||
            index->p_vaddr - segment->p_vaddr > segment->p_filesz ||
            index->p_filesz > segment->p_filesz - (index->p_vaddr - segment->p_vaddr))
            continue;
        const unsigned char *at = (const unsigned char *)base + segment->p_vaddr;
        tables->segment = (struct qmpi_frame_bytes){at, at + segment->p_filesz};
        at = (const unsigned char *)base + index->p_vaddr;
        tables->index = (struct qmpi_frame_bytes){at, at + index->p_filesz};
        return true;
    }
    return false;
}

/* Finds the tables of a private copy of a library, whose program headers are not at its beginning
 * (elf/copy.c). The loader knows the index, and the tables are in the same mapping. */
static bool find_mapped_tables(uintptr_t address, struct tables *tables)
{
    const uintptr_t index = qmpi_module_unwind_index(address);
    const struct qmpi_call_stack mapping =
        index ? qmpi_call_stack_find(index) : (struct qmpi_call_stack){0, 0};
    if (!mapping.end)
        return false;
    tables->segment = (struct qmpi_frame_bytes){(const unsigned char *)mapping.begin,
                                                (const unsigned char *)mapping.end};
    tables->index = (struct qmpi_frame_bytes){(const unsigned char *)index, tables->segment.end};
    return true;
}

/* A row of the index. Both numbers are relative to the beginning of the index. */
struct row {
    int32_t function, record;
};

static struct row read_row(const unsigned char *rows, size_t number)
{
    struct row row;
    memcpy(&row, rows + number * sizeof row, sizeof row);
    return row;
}

/* Searches the index. Returns the place of the record of the function that may contain an address,
 * or 0 if there is none, or if the index has another form than the one that linkers write. */
static uintptr_t find_record(const struct tables *tables, uintptr_t address, uintptr_t *function)
{
    enum { VERSION = 1, HEADER = 4 };
    struct qmpi_frame_bytes reader = tables->index;
    const uintptr_t begin = (uintptr_t)reader.at;
    const uint64_t version = qmpi_frame_bytes_read(&reader, 1),
                   frames = qmpi_frame_bytes_read(&reader, 1);
    const uint64_t count_encoding = qmpi_frame_bytes_read(&reader, 1),
                   encoding = qmpi_frame_bytes_read(&reader, 1);
    if (version != VERSION || count_encoding != DW_EH_PE_udata4 ||
        encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
        return 0;
    qmpi_frame_bytes_read(
        &reader, frames == DW_EH_PE_omit ? 0 : qmpi_frame_pointer_size((unsigned char)frames));
    size_t count = (size_t)qmpi_frame_bytes_read(&reader, 4), low = 0;
    const size_t most = (size_t)(reader.end - reader.at) / sizeof(struct row);
    for (size_t high = count < most ? count : most; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (begin + (uintptr_t)(intptr_t)read_row(reader.at, middle).function <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const struct row row = read_row(reader.at, low - 1);
    *function = begin + (uintptr_t)(intptr_t)row.function;
    return begin + (uintptr_t)(intptr_t)row.record;
}

/* Asks libgcc_s for a record if no tables were found: for code that belongs to no object, for
 * example. The record is trusted. */
static uintptr_t find_registered(uintptr_t address, struct tables *tables, uintptr_t *function)
{
    struct dwarf_eh_bases bases;
    const void *record = _Unwind_Find_FDE((void *)address, &bases);
    tables->segment = (struct qmpi_frame_bytes){NULL, (const unsigned char *)UINTPTR_MAX};
    *function = record ? (uintptr_t)bases.function : 0;
    return (uintptr_t)record;
}

struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address)
{
    const struct qmpi_frame_tables how = qmpi_registers_tables();
    /* Without a table, other unwinders cannot continue here, either. */
    struct qmpi_frame_rule rule = {.base = QMPI_FRAME_END};
    struct tables tables;
    const uintptr_t call = address - 1, begin = qmpi_module_begin(call);
    uintptr_t function, record;
    if (begin && (find_tables(begin, &tables) || find_mapped_tables(call, &tables)))
        record = find_record(&tables, call, &function);
    else
        record = find_registered(call, &tables, &function);
    if (record)
        rule = qmpi_frame_table_read(&how, &tables.segment, record, function, call);
    if (rule.base == QMPI_FRAME_END && qmpi_registers_return_from_signal((const void *)address))
        rule.base = QMPI_FRAME_SIGNAL;
    return rule;
}
