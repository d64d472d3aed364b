/* SPDX-License-Identifier: MIT */
/*
 * See frame_rule.h. The tables are those of "Call Frame Information" in the DWARF standard, with
 * the changes of "Exception Frames" in the Linux Standard Base; rare features are not supported. A
 * program that never throws an exception may have damaged tables, which libgcc_s and libunwind
 * trust. Here, only the segment that contains the tables is read, and bytes after the end of a
 * record are read as 0.
 */
#define _GNU_SOURCE
#include "sites/frame_rule.h"

#include "sites/arch/registers.h"
#include "sites/modules.h"
#include "util/util.h"

#include <dwarf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Part of the ABI of libgcc_s, with which the tables of code that is generated at run time are
 * registered.
 */
struct dwarf_eh_bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *address, struct dwarf_eh_bases *bases);

enum { REMEMBERED = 8, PAGE = 4096 /* of memory, at least */ };

/* ---- Reading bytes --------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
};

/* Skips `count` bytes. Returns the first eight of them as a number; 0 if they do not exist. */
static uint64_t read_bytes(struct reader *reader, size_t count)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < count) {
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, count < sizeof value ? count : sizeof value); /* little-endian */
    reader->at += count;
    return value;
}

/* Reads a number in LEB128: seven bits at a time; the last of them is the sign of a signed
 * number. */
static uint64_t read_leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    do {
        byte = (unsigned char)read_bytes(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return is_signed && byte & 0x40 && shift < 64 ? value | ~(uint64_t)0 << shift : value;
}

static uint64_t read_uleb(struct reader *reader)
{
    return read_leb(reader, false);
}

static int64_t read_sleb(struct reader *reader)
{
    return (int64_t)read_leb(reader, true);
}

/* Opens a record at an address that may be invalid. Returns false if it is. */
static bool open_record(const struct reader *segment, uintptr_t place, struct reader *reader)
{
    uint32_t length;
    if (place < (uintptr_t)segment->at || place >= (uintptr_t)segment->end ||
        (uintptr_t)segment->end - place < sizeof length)
        return false;
    memcpy(&length, (const void *)place, sizeof length);
    reader->at = (const unsigned char *)place + sizeof length;
    if (!length || length >= 0xfffffff0 || length > (size_t)(segment->end - reader->at))
        return false;
    reader->end = reader->at + length;
    return true;
}

/* ---- The state of the table's program -------------------------------------------------------- */

enum place { SAME, AT_CFA, AT_FP, UNDEFINED, ELSEWHERE };

struct saved {
    enum place place;
    int64_t offset;
};

struct state {
    enum qmpi_frame_base base;
    uint64_t cfa_register;
    int64_t offset;
    struct saved fp, ra;
};

struct program {
    uint64_t code_factor;
    int64_t data_factor;
    unsigned char pointer; /* the encoding of addresses */
    bool failed;           /* it has an unsupported instruction */
    bool is_signal;
    struct reader initial;
    struct state state, first;
    struct state remembered[REMEMBERED];
    int remembered_count;
};

static struct saved *saved_of(struct state *state, uint64_t number)
{
    return number == QMPI_DWARF_FP ? &state->fp : number == QMPI_DWARF_RA ? &state->ra : NULL;
}

static void set_saved(struct program *program, uint64_t number, enum place place, int64_t offset)
{
    struct saved *saved = saved_of(&program->state, number);
    if (saved)
        *saved = (struct saved){place, offset};
}

static void restore_saved(struct program *program, uint64_t number)
{
    const struct saved *first = saved_of(&program->first, number);
    if (first)
        *saved_of(&program->state, number) = *first;
}

static void set_cfa(struct program *program, uint64_t number, int64_t offset)
{
    program->state.cfa_register = number;
    program->state.offset = offset;
    program->state.base = number == QMPI_DWARF_SP   ? QMPI_FRAME_SP
                          : number == QMPI_DWARF_FP ? QMPI_FRAME_FP
                                                    : QMPI_FRAME_UNKNOWN;
}

/* Reads one of the two expressions that compilers use in functions that realign the stack:
 * fp + offset, and the word that is stored there (`is_stored`). */
static bool read_expression(struct reader *reader, int64_t *offset, bool *is_stored)
{
    const uint64_t length = read_uleb(reader);
    if (length > (uint64_t)(reader->end - reader->at))
        return false;
    struct reader inner = {reader->at, reader->at + length};
    reader->at += length;
    if (read_bytes(&inner, 1) != DW_OP_breg0 + QMPI_DWARF_FP)
        return false;
    *offset = read_sleb(&inner);
    *is_stored = inner.at < inner.end && read_bytes(&inner, 1) == DW_OP_deref;
    return inner.at == inner.end;
}

static void set_cfa_expression(struct program *program, struct reader *reader)
{
    bool is_stored;
    int64_t offset;
    const bool known = read_expression(reader, &offset, &is_stored) && is_stored;
    program->state.base = known ? QMPI_FRAME_SAVED : QMPI_FRAME_UNKNOWN;
    program->state.offset = known ? offset : 0;
}

static void set_saved_expression(struct program *program, struct reader *reader)
{
    const uint64_t number = read_uleb(reader);
    bool is_stored;
    int64_t offset = 0;
    const bool known = read_expression(reader, &offset, &is_stored) && !is_stored;
    set_saved(program, number, known ? AT_FP : ELSEWHERE, offset);
}

/* Multiplies without overflow, because damaged numbers may be large: the product wraps around. */
static int64_t factored(const struct program *program, uint64_t number)
{
    return (int64_t)(number * (uint64_t)program->data_factor);
}

/* ---- Instructions ---------------------------------------------------------------------------- */

/* Runs an instruction without an operand in its first byte. Instructions that compilers do not use
 * on this processor are not supported. */
static void run_other_instruction(struct program *program, struct reader *reader,
                                  uint64_t operation)
{
    uint64_t number;
    switch (operation) {
    case DW_CFA_nop:
        break;
    case DW_CFA_offset_extended:
        number = read_uleb(reader);
        set_saved(program, number, AT_CFA, factored(program, read_uleb(reader)));
        break;
    case DW_CFA_offset_extended_sf:
        number = read_uleb(reader);
        set_saved(program, number, AT_CFA, factored(program, (uint64_t)read_sleb(reader)));
        break;
    case DW_CFA_restore_extended:
        restore_saved(program, read_uleb(reader));
        break;
    case DW_CFA_undefined:
        set_saved(program, read_uleb(reader), UNDEFINED, 0);
        break;
    case DW_CFA_same_value:
        set_saved(program, read_uleb(reader), SAME, 0);
        break;
    case DW_CFA_expression:
        set_saved_expression(program, reader);
        break;
    case DW_CFA_remember_state:
        program->failed = program->remembered_count == REMEMBERED;
        if (!program->failed)
            program->remembered[program->remembered_count++] = program->state;
        break;
    case DW_CFA_restore_state:
        program->failed = !program->remembered_count;
        if (!program->failed)
            program->state = program->remembered[--program->remembered_count];
        break;
    case DW_CFA_def_cfa:
        number = read_uleb(reader);
        set_cfa(program, number, (int64_t)read_uleb(reader));
        break;
    case DW_CFA_def_cfa_register:
        set_cfa(program, read_uleb(reader), program->state.offset);
        break;
    case DW_CFA_def_cfa_offset:
        set_cfa(program, program->state.cfa_register, (int64_t)read_uleb(reader));
        break;
    case DW_CFA_def_cfa_expression:
        set_cfa_expression(program, reader);
        break;
    case DW_CFA_GNU_args_size:
        read_uleb(reader);
        break;
    default:
        program->failed = true;
    }
}

/* Runs the instructions for code up to `distance` bytes after the beginning of the function. */
static void run_instructions(struct program *program, struct reader reader, uint64_t distance)
{
    uint64_t at = 0, advance;
    while (reader.at < reader.end && !program->failed) {
        const uint64_t operation = read_bytes(&reader, 1), operand = operation & 0x3f;
        switch (operation & 0xc0) {
        case DW_CFA_advance_loc:
            advance = operand;
            break;
        case DW_CFA_offset:
            set_saved(program, operand, AT_CFA, factored(program, read_uleb(&reader)));
            continue;
        case DW_CFA_restore:
            restore_saved(program, operand);
            continue;
        default:
            if (operation < DW_CFA_advance_loc1 || operation > DW_CFA_advance_loc4) {
                run_other_instruction(program, &reader, operation);
                continue;
            }
            advance = read_bytes(&reader, (size_t)1 << (operation - DW_CFA_advance_loc1));
        }
        at += advance * program->code_factor;
        if (at > distance)
            return;
    }
}

/* ---- The tables ------------------------------------------------------------------------------ */

static size_t pointer_size(unsigned char encoding)
{
    static const size_t sizes[8] = {sizeof(void *), 0, 2, 4, 8};
    return sizes[encoding & 7];
}

/* Reads the common part of the tables of many functions. */
static bool read_common(struct reader reader, struct program *program)
{
    if (read_bytes(&reader, 4) != 0)
        return false;
    const uint64_t version = read_bytes(&reader, 1);
    const char *augmentation = (const char *)reader.at;
    const char *end = memchr(augmentation, '\0', (size_t)(reader.end - reader.at));
    if (!end)
        return false;
    reader.at = (const unsigned char *)end + 1;
    program->code_factor = read_uleb(&reader);
    program->data_factor = read_sleb(&reader);
    const uint64_t ra = version == 1 ? read_bytes(&reader, 1) : read_uleb(&reader);
    if ((version != 1 && version != 3) || *augmentation != 'z' || ra != QMPI_DWARF_RA)
        return false;
    const uint64_t length = read_uleb(&reader);
    if (length > (uint64_t)(reader.end - reader.at))
        return false;
    const unsigned char *const instructions = reader.at + length;
    for (const char *letter = augmentation + 1; *letter; letter++) {
        if (*letter == 'R')
            program->pointer = (unsigned char)read_bytes(&reader, 1);
        else if (*letter == 'L')
            read_bytes(&reader, 1);
        else if (*letter == 'P')
            read_bytes(&reader, pointer_size((unsigned char)read_bytes(&reader, 1)));
        else if (*letter == 'S')
            program->is_signal = true;
        else
            return false;
    }
    program->initial = (struct reader){instructions, reader.end};
    return pointer_size(program->pointer) != 0;
}

static struct qmpi_frame_rule rule_of(const struct state *state)
{
    struct qmpi_frame_rule rule = {state->base, state->offset, QMPI_FP_UNCHANGED};
    if (state->ra.place == UNDEFINED)
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_END};
    const int64_t word = (int64_t)sizeof(void *);
    bool known = state->ra.place == AT_CFA && state->ra.offset == -word;
    switch (state->fp.place) {
    case SAME:
        break;
    case AT_CFA:
        rule.fp = -(state->fp.offset / word);
        known &= state->fp.offset % word == 0 && rule.fp > 1;
        break;
    case AT_FP:
        rule.fp = QMPI_FP_AT_FP;
        known &= state->fp.offset == 0;
        break;
    default:
        known = false;
    }
    if (!known)
        rule.base = QMPI_FRAME_UNKNOWN;
    return rule;
}

/* ---- Where the tables are -------------------------------------------------------------------- */

/* Returns the program headers of an object, which are at its beginning; NULL: they are damaged. */
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
    struct reader segment; /* the segment that contains them */
    struct reader index;   /* .eh_frame_hdr: the tables by address */
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
        tables->segment = (struct reader){at, at + segment->p_filesz};
        at = (const unsigned char *)base + index->p_vaddr;
        tables->index = (struct reader){at, at + index->p_filesz};
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
    tables->segment =
        (struct reader){(const unsigned char *)mapping.begin, (const unsigned char *)mapping.end};
    tables->index = (struct reader){(const unsigned char *)index, tables->segment.end};
    return true;
}

/* A row of the index: both numbers are relative to its beginning. */
struct row {
    int32_t function, record;
};

static struct row read_row(const unsigned char *rows, size_t number)
{
    struct row row;
    memcpy(&row, rows + number * sizeof row, sizeof row);
    return row;
}

/* Searches the index, which all linkers write in the same form. Returns the place of the record of
 * the function that may contain an address; 0: none. */
static uintptr_t find_record(const struct tables *tables, uintptr_t address, uintptr_t *function)
{
    enum { VERSION = 1, HEADER = 4 };
    struct reader reader = tables->index;
    const uintptr_t begin = (uintptr_t)reader.at;
    const uint64_t version = read_bytes(&reader, 1), frames = read_bytes(&reader, 1);
    const uint64_t count_encoding = read_bytes(&reader, 1), encoding = read_bytes(&reader, 1);
    if (version != VERSION || count_encoding != DW_EH_PE_udata4 ||
        encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
        return 0;
    read_bytes(&reader, frames == DW_EH_PE_omit ? 0 : pointer_size((unsigned char)frames));
    size_t count = (size_t)read_bytes(&reader, 4), low = 0;
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

/* Finds tables that are registered for code that belongs to no object. Such tables are trusted. */
static uintptr_t find_registered(uintptr_t address, struct tables *tables, uintptr_t *function)
{
    struct dwarf_eh_bases bases;
    const void *record = _Unwind_Find_FDE((void *)address, &bases);
    tables->segment = (struct reader){NULL, (const unsigned char *)UINTPTR_MAX};
    *function = record ? (uintptr_t)bases.function : 0;
    return (uintptr_t)record;
}

struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address)
{
    const struct qmpi_frame_rule unknown = {.base = QMPI_FRAME_UNKNOWN};
    const struct qmpi_frame_rule end = {.base = QMPI_FRAME_END}; /* other unwinders cannot continue
                                                                    here, either */
    struct program program = {.failed = false};
    struct reader reader, common;
    struct tables tables;
    const uintptr_t call = address - 1, begin = qmpi_module_begin(call);
    uintptr_t function, record;
    if (begin && (find_tables(begin, &tables) || find_mapped_tables(call, &tables)))
        record = find_record(&tables, call, &function);
    else
        record = find_registered(call, &tables, &function);
    if (!record)
        return end;
    if (!open_record(&tables.segment, record, &reader))
        return unknown;
    const uintptr_t place = (uintptr_t)reader.at;
    const uintptr_t distance = (uintptr_t)(intptr_t)(int32_t)read_bytes(&reader, 4);
    if (!open_record(&tables.segment, place - distance, &common) || !read_common(common, &program))
        return unknown;
    const size_t size = pointer_size(program.pointer);
    read_bytes(&reader, size); /* the size of the function */
    const uint64_t length = read_bytes(&reader, size);
    if (call - function >= length)
        return end;
    if (program.is_signal)
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_SIGNAL};
    read_bytes(&reader, read_uleb(&reader)); /* the place of its handlers */
    run_instructions(&program, program.initial, UINT64_MAX);
    program.first = program.state;
    run_instructions(&program, reader, call - function);
    return program.failed ? unknown : rule_of(&program.state);
}
