/* SPDX-License-Identifier: MIT */
/*
 * See frame_rule.h. The tables are those of "Call Frame Information" in the DWARF standard, with
 * the changes of "Exception Frames" in the Linux Standard Base. What few functions have is not
 * read: then the C library's unwinder does the work.
 */
#include "sites/frame_rule.h"

#include "sites/arch/registers.h"
#include "sites/frame_reader.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

/* Part of the ABI of libgcc_s, which finds the table of a function for exceptions. */
struct dwarf_eh_bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *address, struct dwarf_eh_bases *bases);

enum { REMEMBERED = 8 };

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
    bool failed;           /* it has what is not understood */
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

static void restore(struct program *program, uint64_t number)
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

/* The two forms of expressions that compilers use in functions that realign the stack:
 * fp + offset, and what is stored there. */
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

/* ---- Instructions ---------------------------------------------------------------------------- */

/* Without those that compilers do not use on this processor: the C library's unwinder knows them.
 */
static void run_other(struct program *program, struct reader *reader, uint64_t operation)
{
    uint64_t number;
    switch (operation) {
    case DW_CFA_nop:
        break;
    case DW_CFA_offset_extended:
        number = read_uleb(reader);
        set_saved(program, number, AT_CFA, (int64_t)read_uleb(reader) * program->data_factor);
        break;
    case DW_CFA_offset_extended_sf:
        number = read_uleb(reader);
        set_saved(program, number, AT_CFA, read_sleb(reader) * program->data_factor);
        break;
    case DW_CFA_restore_extended:
        restore(program, read_uleb(reader));
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

/* Runs the instructions up to those for what follows `distance` bytes behind the beginning. */
static void run(struct program *program, struct reader reader, uint64_t distance)
{
    uint64_t at = 0, advance;
    while (reader.at < reader.end && !program->failed) {
        const uint64_t operation = read_bytes(&reader, 1), operand = operation & 0x3f;
        switch (operation & 0xc0) {
        case DW_CFA_advance_loc:
            advance = operand;
            break;
        case DW_CFA_offset:
            set_saved(program, operand, AT_CFA, (int64_t)read_uleb(&reader) * program->data_factor);
            continue;
        case DW_CFA_restore:
            restore(program, operand);
            continue;
        default:
            if (operation < DW_CFA_advance_loc1 || operation > DW_CFA_advance_loc4) {
                run_other(program, &reader, operation);
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

/* The common part of the tables of many functions. */
static bool read_common(const void *record, struct program *program)
{
    struct reader reader;
    if (!open_record(record, &reader) || read_bytes(&reader, 4) != 0)
        return false;
    const uint64_t version = read_bytes(&reader, 1);
    const char *augmentation = (const char *)reader.at;
    reader.at += strlen(augmentation) + 1;
    program->code_factor = read_uleb(&reader);
    program->data_factor = read_sleb(&reader);
    const uint64_t ra = version == 1 ? read_bytes(&reader, 1) : read_uleb(&reader);
    if ((version != 1 && version != 3) || *augmentation != 'z' || ra != QMPI_DWARF_RA)
        return false;
    const uint64_t length = read_uleb(&reader);
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
        rule.fp = -state->fp.offset / word;
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

struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address)
{
    struct dwarf_eh_bases bases;
    struct program program = {.failed = false};
    struct reader reader;
    const uintptr_t call = address - 1;
    const void *record = _Unwind_Find_FDE((void *)call, &bases);
    const struct qmpi_frame_rule unknown = {.base = QMPI_FRAME_UNKNOWN};
    if (!record) /* no unwinder knows more */
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_END};
    if (!open_record(record, &reader))
        return unknown;
    const unsigned char *const place = reader.at;
    if (!read_common(place - (int32_t)read_bytes(&reader, 4), &program))
        return unknown;
    if (program.is_signal)
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_SIGNAL};
    read_bytes(&reader, 2 * pointer_size(program.pointer)); /* the function, and its size */
    read_bytes(&reader, read_uleb(&reader));                /* where its handlers are */
    run(&program, program.initial, UINT64_MAX);
    program.first = program.state;
    run(&program, reader, call - (uintptr_t)bases.function);
    return program.failed ? unknown : rule_of(&program.state);
}
