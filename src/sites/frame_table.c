/* SPDX-License-Identifier: MIT */
/*
 * See frame_table.h. The tables are those of "Call Frame Information" in the DWARF standard, with
 * the changes of "Exception Frames" in the Linux Standard Base; rare features are not supported. A
 * program that never throws an exception may have damaged tables, which libgcc_s and libunwind
 * trust. Here, only the segment that contains the tables is read, and bytes after the end of a
 * record are read as 0.
 */
#include "sites/frame_table.h"

#include <dwarf.h>
#include <string.h>

enum { REMEMBERED = 8 };

/* Instructions that <dwarf.h> lacks. On processors that sign return addresses, they tell whether
 * return addresses are signed from there on. They need no further attention, because
 * qmpi_registers_strip removes the signature of each address. */
enum { SIGNED_WITH_PC = 0x2c, SIGNED = 0x2d };

/* ---- Reading bytes --------------------------------------------------------------------------- */

uint64_t qmpi_frame_bytes_read(struct qmpi_frame_bytes *bytes, size_t count)
{
    uint64_t value = 0;
    if ((size_t)(bytes->end - bytes->at) < count) {
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&value, bytes->at, count < sizeof value ? count : sizeof value); /* little-endian */
    bytes->at += count;
    return value;
}

/* Reads a number in LEB128, which has seven bits in each byte. The highest of these bits in the
 * last byte is the sign of a signed number. */
static uint64_t read_leb(struct qmpi_frame_bytes *reader, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    do {
        byte = (unsigned char)qmpi_frame_bytes_read(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return is_signed && byte & 0x40 && shift < 64 ? value | ~(uint64_t)0 << shift : value;
}

static uint64_t read_uleb(struct qmpi_frame_bytes *reader)
{
    return read_leb(reader, false);
}

static int64_t read_sleb(struct qmpi_frame_bytes *reader)
{
    return (int64_t)read_leb(reader, true);
}

/* Opens the record at an address. Returns false if the address or the length of the record is
 * invalid, or the record has the format for 64-bit lengths. */
static bool open_record(const struct qmpi_frame_bytes *segment, uintptr_t place,
                        struct qmpi_frame_bytes *reader)
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

enum place { SAME, AT_CFA, AT_SP, AT_FP, UNDEFINED, ELSEWHERE };

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
    const struct qmpi_frame_tables *tables;
    uintptr_t address; /* of the instruction whose rule is read */
    uint64_t code_factor;
    int64_t data_factor;
    unsigned char pointer; /* the encoding of addresses */
    bool failed;           /* the program contains an unsupported instruction, or is damaged */
    bool is_signal;
    struct qmpi_frame_bytes initial;
    struct state state, first; /* first: the state at the beginning of each function */
    struct state remembered[REMEMBERED];
    int remembered_count;
};

static struct saved *saved_of(const struct program *program, struct state *state, uint64_t number)
{
    return number == program->tables->fp   ? &state->fp
           : number == program->tables->ra ? &state->ra
                                           : NULL;
}

static void set_saved(struct program *program, uint64_t number, enum place place, int64_t offset)
{
    struct saved *saved = saved_of(program, &program->state, number);
    if (saved)
        *saved = (struct saved){place, offset};
}

static void restore_saved(struct program *program, uint64_t number)
{
    const struct saved *first = saved_of(program, &program->first, number);
    if (first)
        *saved_of(program, &program->state, number) = *first;
}

static void set_cfa(struct program *program, uint64_t number, int64_t offset)
{
    program->state.cfa_register = number;
    program->state.offset = offset;
    program->state.base = number == program->tables->sp   ? QMPI_FRAME_SP
                          : number == program->tables->fp ? QMPI_FRAME_FP
                                                          : QMPI_FRAME_UNKNOWN;
}

/* Multiplies without overflow, because damaged numbers may be large: the product wraps around. */
static int64_t factored(const struct program *program, uint64_t number)
{
    return (int64_t)(number * (uint64_t)program->data_factor);
}

/* ---- Expressions ----------------------------------------------------------------------------- */

/* The value of an expression: a number, or a number that is added to a register. */
struct value {
    enum { NUMBER, SP, FP } base; /* NUMBER: no register */
    uint64_t number;              /* sums and products wrap around */
};

static bool push_register(const struct program *program, uint64_t number, int64_t offset,
                          struct value *value)
{
    const struct qmpi_frame_tables *tables = program->tables;
    const bool is_scale = tables->scale && number == tables->scale;
    /* If the return address is in no register, its number means the address of the instruction. */
    const bool is_address = !tables->ra_is_register && number == tables->ra;
    value->base = number == tables->sp ? SP : number == tables->fp ? FP : NUMBER;
    value->number = (uint64_t)offset + (is_scale     ? tables->scale_value
                                        : is_address ? program->address
                                                     : 0);
    return value->base != NUMBER || is_scale || is_address;
}

/* Determines the number that an operation pushes. Returns false if the operation pushes none, or is
 * not supported. */
static bool push_number(uint64_t operation, struct qmpi_frame_bytes *reader, struct value *value)
{
    value->base = NUMBER;
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
        value->number = operation - DW_OP_lit0;
    else if (operation == DW_OP_const1u)
        value->number = qmpi_frame_bytes_read(reader, 1);
    else if (operation == DW_OP_const2u)
        value->number = qmpi_frame_bytes_read(reader, 2);
    else if (operation == DW_OP_constu)
        value->number = read_uleb(reader);
    else if (operation == DW_OP_consts)
        value->number = (uint64_t)read_sleb(reader);
    else
        return false;
    return true;
}

/* Applies an operation to two values, and stores the result in `left`. Returns false if the
 * operation is not supported for these values. */
static bool combine(uint64_t operation, struct value *left, const struct value *right)
{
    const bool are_numbers = left->base == NUMBER && right->base == NUMBER;
    switch (operation) {
    case DW_OP_plus:
        left->number += right->number;
        if (left->base != NUMBER)
            return right->base == NUMBER;
        left->base = right->base;
        return true;
    case DW_OP_minus:
        left->number -= right->number;
        return right->base == NUMBER;
    case DW_OP_mul:
        left->number *= right->number;
        return are_numbers;
    case DW_OP_and:
        left->number &= right->number;
        return are_numbers;
    case DW_OP_shl:
        left->number = right->number < 64 ? left->number << right->number : 0;
        return are_numbers;
    case DW_OP_ge:
        left->number = (int64_t)left->number >= (int64_t)right->number;
        return are_numbers;
    default:
        return false;
    }
}

/*
 * Reads one of the expressions that compilers and linkers use. In functions that realign the stack,
 * this is fp + offset, or the word that is stored there (`is_stored`). In functions with scalable
 * vectors in their frame, it may also be sp or fp + offset + the size of the vectors. In the
 * linker's code through which functions of libraries are called (PLT), it is sp + 8, or sp + 16
 * after the instruction that pushes a word; the lowest bits of the address tell which.
 */
static bool read_expression(const struct program *program, struct qmpi_frame_bytes *reader,
                            struct value *value, bool *is_stored)
{
    enum { VALUES = 4 };
    struct value values[VALUES] = {{NUMBER, 0}};
    int count = 0;
    const uint64_t length = read_uleb(reader);
    if (length > (uint64_t)(reader->end - reader->at))
        return false;
    struct qmpi_frame_bytes inner = {reader->at, reader->at + length};
    reader->at += length;
    *is_stored = false;
    while (inner.at < inner.end) {
        const uint64_t operation = qmpi_frame_bytes_read(&inner, 1);
        bool good = true;
        if (operation == DW_OP_plus_uconst && count) {
            values[count - 1].number += read_uleb(&inner);
        } else if (operation == DW_OP_deref) {
            *is_stored = true;
            good = count == 1 && inner.at == inner.end;
        } else if (count > 1 && combine(operation, &values[count - 2], &values[count - 1])) {
            count--;
        } else if (count == VALUES) {
            good = false;
        } else if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
            good = push_register(program, operation - DW_OP_breg0, read_sleb(&inner),
                                 &values[count++]);
        } else if (operation == DW_OP_bregx) {
            const uint64_t number = read_uleb(&inner);
            good = push_register(program, number, read_sleb(&inner), &values[count++]);
        } else {
            good = push_number(operation, &inner, &values[count++]);
        }
        if (!good)
            return false;
    }
    *value = values[0];
    return count == 1 && value->base != NUMBER;
}

static void set_cfa_expression(struct program *program, struct qmpi_frame_bytes *reader)
{
    bool is_stored;
    struct value value;
    program->state.base = QMPI_FRAME_UNKNOWN;
    program->state.offset = 0;
    if (!read_expression(program, reader, &value, &is_stored) || (is_stored && value.base != FP))
        return;
    program->state.offset = (int64_t)value.number;
    program->state.base = is_stored          ? QMPI_FRAME_SAVED
                          : value.base == FP ? QMPI_FRAME_FP
                                             : QMPI_FRAME_SP;
}

static void set_saved_expression(struct program *program, struct qmpi_frame_bytes *reader)
{
    const uint64_t number = read_uleb(reader);
    bool is_stored;
    struct value value;
    if (!read_expression(program, reader, &value, &is_stored) || is_stored)
        set_saved(program, number, ELSEWHERE, 0);
    else
        set_saved(program, number, value.base == FP ? AT_FP : AT_SP, (int64_t)value.number);
}

/* ---- Instructions ---------------------------------------------------------------------------- */

/* Runs an instruction without an operand in its first byte. Instructions that compilers do not use
 * on the supported processors are not supported. */
static void run_other_instruction(struct program *program, struct qmpi_frame_bytes *reader,
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
    case SIGNED:
    case SIGNED_WITH_PC:
        program->failed = !program->tables->signs_ra;
        break;
    default:
        program->failed = true;
    }
}

/* Runs the instructions for code up to `distance` bytes after the beginning of the function. */
static void run_instructions(struct program *program, struct qmpi_frame_bytes reader,
                             uint64_t distance)
{
    uint64_t at = 0, advance;
    while (reader.at < reader.end && !program->failed) {
        const uint64_t operation = qmpi_frame_bytes_read(&reader, 1), operand = operation & 0x3f;
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
            advance =
                qmpi_frame_bytes_read(&reader, (size_t)1 << (operation - DW_CFA_advance_loc1));
        }
        at += advance * program->code_factor;
        if (at > distance)
            return;
    }
}

/* ---- The tables ------------------------------------------------------------------------------ */

size_t qmpi_frame_pointer_size(unsigned char encoding)
{
    static const size_t sizes[8] = {sizeof(void *), 0, 2, 4, 8};
    return sizes[encoding & 7];
}

/* Reads the common part of the tables of many functions. */
static bool read_common(struct qmpi_frame_bytes reader, struct program *program)
{
    if (qmpi_frame_bytes_read(&reader, 4) != 0)
        return false;
    const uint64_t version = qmpi_frame_bytes_read(&reader, 1);
    const char *augmentation = (const char *)reader.at;
    const char *end = memchr(augmentation, '\0', (size_t)(reader.end - reader.at));
    if (!end)
        return false;
    reader.at = (const unsigned char *)end + 1;
    program->code_factor = read_uleb(&reader);
    program->data_factor = read_sleb(&reader);
    const uint64_t ra = version == 1 ? qmpi_frame_bytes_read(&reader, 1) : read_uleb(&reader);
    if ((version != 1 && version != 3) || *augmentation != 'z' || ra != program->tables->ra)
        return false;
    const uint64_t length = read_uleb(&reader);
    if (length > (uint64_t)(reader.end - reader.at))
        return false;
    const unsigned char *const instructions = reader.at + length;
    for (const char *letter = augmentation + 1; *letter; letter++) {
        if (*letter == 'R')
            program->pointer = (unsigned char)qmpi_frame_bytes_read(&reader, 1);
        else if (*letter == 'L')
            qmpi_frame_bytes_read(&reader, 1);
        else if (*letter == 'P')
            qmpi_frame_bytes_read(
                &reader, qmpi_frame_pointer_size((unsigned char)qmpi_frame_bytes_read(&reader, 1)));
        else if (*letter == 'S')
            program->is_signal = true;
        else if (*letter == 'B' && program->tables->signs_ra)
            continue; /* tells which key signs return addresses */
        else
            return false;
    }
    program->initial = (struct qmpi_frame_bytes){instructions, reader.end};
    return qmpi_frame_pointer_size(program->pointer) != 0;
}

/* Returns the place of a saved register relative to the CFA, if the place and the CFA are found by
 * the same register, and otherwise the place as it is. */
static struct saved relative_to_cfa(const struct state *state, const struct saved *saved)
{
    const bool same = (saved->place == AT_SP && state->base == QMPI_FRAME_SP) ||
                      (saved->place == AT_FP && state->base == QMPI_FRAME_FP);
    return same ? (struct saved){AT_CFA,
                                 (int64_t)((uint64_t)saved->offset - (uint64_t)state->offset)}
                : *saved;
}

static struct qmpi_frame_rule rule_of(const struct program *program)
{
    const struct state *state = &program->state;
    const struct saved ra = relative_to_cfa(state, &state->ra);
    const struct saved fp = relative_to_cfa(state, &state->fp);
    const int64_t word = (int64_t)sizeof(void *);
    struct qmpi_frame_rule rule = {state->base, state->offset, QMPI_FP_UNCHANGED, 0};
    bool known = false;
    if (ra.place == UNDEFINED)
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_END};
    if (ra.place == AT_CFA) {
        rule.ra = -(ra.offset / word);
        known = ra.offset % word == 0 && rule.ra > 0;
    } else if (ra.place == SAME && rule.base == QMPI_FRAME_SP) {
        rule.base = QMPI_FRAME_LEAF;
        known = program->tables->ra_is_register;
    }
    switch (fp.place) {
    case SAME:
        break;
    case AT_CFA:
        rule.fp = -(fp.offset / word);
        known &= fp.offset % word == 0 && rule.fp > 0 && rule.fp != rule.ra;
        break;
    case AT_FP:
        rule.fp = QMPI_FP_AT_FP;
        known &= fp.offset == 0;
        break;
    default:
        known = false;
    }
    if (!known)
        rule.base = QMPI_FRAME_UNKNOWN;
    return rule;
}

struct qmpi_frame_rule qmpi_frame_table_read(const struct qmpi_frame_tables *tables,
                                             const struct qmpi_frame_bytes *segment,
                                             uintptr_t place, uintptr_t function, uintptr_t address)
{
    const struct qmpi_frame_rule unknown = {.base = QMPI_FRAME_UNKNOWN};
    struct program program = {.tables = tables, .address = address};
    struct qmpi_frame_bytes reader, common;
    if (!open_record(segment, place, &reader))
        return unknown;
    place = (uintptr_t)reader.at;
    const uintptr_t distance = (uintptr_t)(intptr_t)(int32_t)qmpi_frame_bytes_read(&reader, 4);
    if (!open_record(segment, place - distance, &common) || !read_common(common, &program))
        return unknown;
    const size_t size = qmpi_frame_pointer_size(program.pointer);
    qmpi_frame_bytes_read(&reader, size); /* the address of the function, which is known */
    const uint64_t length = qmpi_frame_bytes_read(&reader, size);
    if (address - function >= length)
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_END};
    if (program.is_signal)
        return (struct qmpi_frame_rule){.base = QMPI_FRAME_SIGNAL};
    qmpi_frame_bytes_read(&reader, read_uleb(&reader)); /* the place of its handlers */
    run_instructions(&program, program.initial, UINT64_MAX);
    program.first = program.state;
    run_instructions(&program, reader, address - function);
    return program.failed ? unknown : rule_of(&program);
}
