/* SPDX-License-Identifier: MIT */
/*
 * Tests sites/frame_table.c with the tables of all supported processors, on any of them.
 * Compilers have written the bytes below for these functions, each of which calls `call`:
 *
 *     usual      has a small frame
 *     large      has an array of 70,000 bytes
 *     wrapped    needs a frame on only one of the two paths through it
 *     varies     has an array whose size is a parameter
 *     realigns   has an aligned array
 */
#define _GNU_SOURCE
#include "unit.h"

#include "sites/arch/tables_aarch64.h"
#include "sites/arch/tables_x86_64.h"
#include "sites/frame_table.h"

#include <string.h>

static const struct qmpi_frame_tables aarch64 = QMPI_FRAME_TABLES_AARCH64;
static const struct qmpi_frame_tables x86_64 = QMPI_FRAME_TABLES_X86_64;

/* GCC 12 for aarch64, -mbranch-protection=pac-ret+b-key: `usual` at 0x40, `large` at 0x68, `varies`
 * at 0xc8. */
static const unsigned char signed_bytes[] = {
    0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x04, 0x78, 0x1e, 0x01,
    0x1b, 0x0c, 0x1f, 0x00, 0x10, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x7a, 0x52, 0x42, 0x00, 0x04, 0x78, 0x1e, 0x01, 0x1b, 0x0c, 0x1f, 0x00, 0x00, 0x00, 0x00,
    0x24, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x34, 0x00, 0x00, 0x00,
    0x00, 0x41, 0x2d, 0x41, 0x0e, 0x30, 0x9d, 0x06, 0x9e, 0x05, 0x42, 0x93, 0x04, 0x47, 0xde, 0xdd,
    0xd3, 0x0e, 0x00, 0x41, 0x2d, 0x00, 0x00, 0x00, 0x34, 0x00, 0x00, 0x00, 0x44, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x44, 0x00, 0x00, 0x00, 0x00, 0x41, 0x2d, 0x41, 0x0e, 0x90, 0x03, 0x41,
    0x0e, 0x90, 0xa3, 0x04, 0x41, 0x9d, 0xb2, 0x44, 0x9e, 0xb1, 0x44, 0x42, 0x93, 0xb0, 0x44, 0x47,
    0xdd, 0xde, 0xd3, 0x41, 0x0e, 0x80, 0xa0, 0x04, 0x41, 0x0e, 0x00, 0x41, 0x2d, 0x00, 0x00, 0x00,
    0x24, 0x00, 0x00, 0x00, 0x7c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00,
    0x00, 0x42, 0x2d, 0x41, 0x0e, 0x20, 0x9d, 0x04, 0x9e, 0x03, 0x42, 0x93, 0x02, 0x94, 0x01, 0x47,
    0xde, 0xdd, 0xd3, 0xd4, 0x0e, 0x00, 0x41, 0x2d, 0x24, 0x00, 0x00, 0x00, 0xa4, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x38, 0x00, 0x00, 0x00, 0x00, 0x41, 0x2d, 0x42, 0x0e, 0x10, 0x9d, 0x02,
    0x9e, 0x01, 0x42, 0x0d, 0x1d, 0x47, 0xde, 0xdd, 0x0c, 0x1f, 0x00, 0x41, 0x2d, 0x00, 0x00, 0x00,
};

/* GCC 12 for aarch64, -fomit-frame-pointer: `usual` at 0x28, `wrapped` at 0x74. */
static const unsigned char omitting_bytes[] = {
    0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x04, 0x78, 0x1e, 0x01,
    0x1b, 0x0c, 0x1f, 0x00, 0x10, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x41, 0x0e, 0x20, 0x93, 0x04, 0x9e, 0x03,
    0x46, 0xde, 0xd3, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x4c, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x00, 0x41, 0x0e, 0x80, 0x03, 0x41, 0x0e, 0x80,
    0xa3, 0x04, 0x41, 0x93, 0xb0, 0x44, 0x9e, 0xaf, 0x44, 0x46, 0xd3, 0xde, 0x41, 0x0e, 0x80, 0xa0,
    0x04, 0x41, 0x0e, 0x00, 0x20, 0x00, 0x00, 0x00, 0x78, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x34, 0x00, 0x00, 0x00, 0x00, 0x42, 0x0e, 0x20, 0x93, 0x04, 0x94, 0x03, 0x43, 0x9e, 0x02, 0x45,
    0xd4, 0xd3, 0xde, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x9c, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x00, 0x41, 0x0e, 0x10, 0x9d, 0x02, 0x9e, 0x01,
    0x43, 0x0d, 0x1d, 0x47, 0xde, 0xdd, 0x0c, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

/* GCC 12 for aarch64 with SVE, functions that keep vectors of scalable size across a call: `usual`
 * at 0x14, `varies` at 0x60. */
static const unsigned char scaling_bytes[] = {
    0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x04, 0x78, 0x1e, 0x01,
    0x1b, 0x0c, 0x1f, 0x00, 0x48, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x64, 0x00, 0x00, 0x00, 0x00, 0x41, 0x0f, 0x08, 0x8f, 0x00, 0x92, 0x2e, 0x00, 0x40, 0x1e, 0x22,
    0x42, 0x0f, 0x0a, 0x8f, 0x00, 0x92, 0x2e, 0x00, 0x40, 0x1e, 0x23, 0x20, 0x22, 0x41, 0x10, 0x1d,
    0x02, 0x8f, 0x00, 0x10, 0x1e, 0x02, 0x8f, 0x08, 0x44, 0x10, 0x13, 0x02, 0x8f, 0x10, 0x10, 0x14,
    0x02, 0x8f, 0x18, 0x4e, 0xdd, 0xde, 0xd3, 0xd4, 0x41, 0x0e, 0x20, 0x41, 0x0e, 0x00, 0x00, 0x00,
    0x6c, 0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x68, 0x00, 0x00, 0x00,
    0x00, 0x41, 0x0f, 0x08, 0x8f, 0x00, 0x92, 0x2e, 0x00, 0x38, 0x1e, 0x22, 0x42, 0x0f, 0x0a, 0x8f,
    0x00, 0x92, 0x2e, 0x00, 0x38, 0x1e, 0x23, 0x20, 0x22, 0x43, 0x10, 0x1d, 0x02, 0x8f, 0x00, 0x10,
    0x1e, 0x02, 0x8f, 0x08, 0x41, 0x10, 0x1d, 0x02, 0x8d, 0x00, 0x10, 0x1e, 0x02, 0x8d, 0x08, 0x0f,
    0x0a, 0x8d, 0x00, 0x92, 0x2e, 0x00, 0x38, 0x1e, 0x23, 0x20, 0x22, 0x41, 0x10, 0x13, 0x02, 0x8d,
    0x10, 0x10, 0x14, 0x02, 0x8d, 0x18, 0x4d, 0x0f, 0x0a, 0x8f, 0x00, 0x92, 0x2e, 0x00, 0x38, 0x1e,
    0x23, 0x20, 0x22, 0x41, 0xdd, 0xde, 0xd3, 0xd4, 0x42, 0x0e, 0x20, 0x41, 0x0e, 0x00, 0x00, 0x00,
};

/* GCC 12 for x86-64: `usual` at 0x18, `realigns` at 0x30. */
static const unsigned char x86_bytes[] = {
    0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x01, 0x78, 0x10, 0x01,
    0x1b, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x44, 0x0e, 0x40, 0x4f, 0x0e, 0x08, 0x00,
    0x1c, 0x00, 0x00, 0x00, 0x34, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2f, 0x00, 0x00, 0x00,
    0x00, 0x41, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d, 0x06, 0x4c, 0x83, 0x03, 0x5e, 0x0c, 0x07, 0x08,
};

/* GNU ld for x86-64: the code through which functions are called (PLT). In each of its entries of
 * 16 bytes, the second instruction, which ends at byte 11, pushes a word. */
static const unsigned char linkage_bytes[] = {
    0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x01, 0x78, 0x10, 0x01,
    0x1b, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x60, 0x03, 0x00, 0x00, 0x00, 0x0e, 0x10, 0x46, 0x0e, 0x18, 0x4a, 0x0f,
    0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x00, 0x00, 0x00, 0x00,
};

/* ---- Reading --------------------------------------------------------------------------------- */

enum { FUNCTION = 0x4000 };

static struct qmpi_frame_rule read_rule(const struct qmpi_frame_tables *tables,
                                        const unsigned char *bytes, size_t size, size_t place,
                                        uintptr_t offset)
{
    const struct qmpi_frame_bytes segment = {bytes, bytes + size};
    return qmpi_frame_table_read(tables, &segment, (uintptr_t)bytes + place, FUNCTION,
                                 FUNCTION + offset);
}

static void assert_rule(struct qmpi_frame_rule rule, enum qmpi_frame_base base, int64_t offset,
                        int64_t fp, int64_t ra)
{
    assert_int_equal(rule.base, base);
    assert_int_equal(rule.offset, offset);
    assert_int_equal(rule.fp, fp);
    assert_int_equal(rule.ra, ra);
}

#define ASSERT_RULE(tables, bytes, place, instruction, ...)                                        \
    assert_rule(read_rule(tables, bytes, sizeof(bytes), place, instruction), __VA_ARGS__)

/* Functions that sign their return address, and store it with the frame pointer. */
static void functions_that_sign_their_return_address_have_rules(void **unused)
{
    enum { USUAL = 0x40, LARGE = 0x68, VARIES = 0xc8 };
    (void)unused;
    ASSERT_RULE(&aarch64, signed_bytes, USUAL, 0, QMPI_FRAME_LEAF, 0, 0, 0);
    ASSERT_RULE(&aarch64, signed_bytes, USUAL, 0x4, QMPI_FRAME_LEAF, 0, 0, 0);
    ASSERT_RULE(&aarch64, signed_bytes, USUAL, 0x8, QMPI_FRAME_SP, 48, 6, 5);
    ASSERT_RULE(&aarch64, signed_bytes, USUAL, 0x2b, QMPI_FRAME_SP, 48, 6, 5);
    ASSERT_RULE(&aarch64, signed_bytes, USUAL, 0x2c, QMPI_FRAME_LEAF, 0, 0, 0);
    ASSERT_RULE(&aarch64, signed_bytes, USUAL, 0x33, QMPI_FRAME_LEAF, 0, 0, 0);
    assert_int_equal(read_rule(&aarch64, signed_bytes, sizeof signed_bytes, USUAL, 0x34).base,
                     QMPI_FRAME_END);
    ASSERT_RULE(&aarch64, signed_bytes, LARGE, 0x8, QMPI_FRAME_LEAF, 400, 0, 0);
    ASSERT_RULE(&aarch64, signed_bytes, LARGE, 0x20, QMPI_FRAME_SP, 70032, 8754, 8753);
    ASSERT_RULE(&aarch64, signed_bytes, VARIES, 0x20, QMPI_FRAME_FP, 16, 2, 1);
}

static void functions_without_frame_pointer_have_rules(void **unused)
{
    enum { USUAL = 0x28, WRAPPED = 0x74 };
    (void)unused;
    ASSERT_RULE(&aarch64, omitting_bytes, USUAL, 0x10, QMPI_FRAME_SP, 32, 0, 3);
    ASSERT_RULE(&aarch64, omitting_bytes, WRAPPED, 0x4, QMPI_FRAME_LEAF, 0, 0, 0);
    ASSERT_RULE(&aarch64, omitting_bytes, WRAPPED, 0x8, QMPI_FRAME_LEAF, 32, 0, 0);
    ASSERT_RULE(&aarch64, omitting_bytes, WRAPPED, 0x18, QMPI_FRAME_SP, 32, 0, 2);
    ASSERT_RULE(&aarch64, omitting_bytes, WRAPPED, 0x30, QMPI_FRAME_LEAF, 0, 0, 0);
}

static void functions_with_scalable_vectors_have_rules(void **unused)
{
    enum { USUAL = 0x14, VARIES = 0x60 };
    struct qmpi_frame_tables scaling = aarch64;
    scaling.scale_value = 4;
    (void)unused;
    ASSERT_RULE(&scaling, scaling_bytes, USUAL, 0x4, QMPI_FRAME_LEAF, 64, 0, 0);
    ASSERT_RULE(&scaling, scaling_bytes, USUAL, 0x34, QMPI_FRAME_SP, 96, 12, 11);
    ASSERT_RULE(&scaling, scaling_bytes, VARIES, 0x18, QMPI_FRAME_SP, 64, 8, 7);
    ASSERT_RULE(&scaling, scaling_bytes, VARIES, 0x30, QMPI_FRAME_FP, 64, 8, 7);
    scaling.scale_value = 8;
    ASSERT_RULE(&scaling, scaling_bytes, USUAL, 0x34, QMPI_FRAME_SP, 160, 20, 19);
    scaling.scale = 0;
    assert_int_equal(read_rule(&scaling, scaling_bytes, sizeof scaling_bytes, USUAL, 0x34).base,
                     QMPI_FRAME_UNKNOWN);
}

/* Functions on a processor whose calls push the return address onto the stack. */
static void functions_whose_return_address_was_pushed_have_rules(void **unused)
{
    enum { USUAL = 0x18, REALIGNS = 0x30 };
    (void)unused;
    ASSERT_RULE(&x86_64, x86_bytes, USUAL, 0, QMPI_FRAME_SP, 8, 0, 1);
    ASSERT_RULE(&x86_64, x86_bytes, USUAL, 0xc, QMPI_FRAME_SP, 64, 0, 1);
    ASSERT_RULE(&x86_64, x86_bytes, REALIGNS, 0x21, QMPI_FRAME_FP, 16, 2, 1);
    ASSERT_RULE(&x86_64, x86_bytes, REALIGNS, 0x2e, QMPI_FRAME_SP, 8, 2, 1);
}

static void code_of_linkers_through_which_functions_are_called_has_rules(void **unused)
{
    enum { LINKAGE = 0x18 };
    (void)unused;
    ASSERT_RULE(&x86_64, linkage_bytes, LINKAGE, 0x0, QMPI_FRAME_SP, 16, 0, 1);
    ASSERT_RULE(&x86_64, linkage_bytes, LINKAGE, 0x6, QMPI_FRAME_SP, 24, 0, 1);
    ASSERT_RULE(&x86_64, linkage_bytes, LINKAGE, 0x290, QMPI_FRAME_SP, 8, 0, 1);
    ASSERT_RULE(&x86_64, linkage_bytes, LINKAGE, 0x296, QMPI_FRAME_SP, 8, 0, 1);
    ASSERT_RULE(&x86_64, linkage_bytes, LINKAGE, 0x29b, QMPI_FRAME_SP, 16, 0, 1);
}

/* ---- Other records --------------------------------------------------------------------------- */

/* Writes two records, and returns the size of both: a common record, with an augmentation of three
 * letters and the return address in column `ra`; and the record of a function of 64 bytes, with
 * these instructions. */
static size_t write_records(unsigned char *bytes, const char *letters, unsigned char ra,
                            const char *instructions, size_t length)
{
    const unsigned char common[] = {20,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    1,
                                    (unsigned char)letters[0],
                                    (unsigned char)letters[1],
                                    (unsigned char)letters[2],
                                    0,
                                    4,
                                    0x78,
                                    ra,
                                    1,
                                    0x1b,
                                    0x0c,
                                    31,
                                    0,
                                    0,
                                    0,
                                    0};
    const unsigned char record[] = {(unsigned char)(13 + length),
                                    0,
                                    0,
                                    0,
                                    sizeof common + 4,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    64,
                                    0,
                                    0,
                                    0,
                                    0};
    memcpy(bytes, common, sizeof common);
    memcpy(bytes + sizeof common, record, sizeof record);
    memcpy(bytes + sizeof common + sizeof record, instructions, length);
    return sizeof common + sizeof record + length;
}

static struct qmpi_frame_rule read_written(const struct qmpi_frame_tables *tables,
                                           const char *letters, unsigned char ra,
                                           const char *instructions, size_t length)
{
    unsigned char bytes[100];
    const size_t size = write_records(bytes, letters, ra, instructions, length);
    return read_rule(tables, bytes, size, 24, 32);
}

#define READ_WRITTEN(tables, letters, ra, instructions)                                            \
    read_written(tables, letters, ra, instructions, sizeof(instructions) - 1)

static void special_functions_have_rules_of_their_own(void **unused)
{
    (void)unused;
    /* The frame of a signal; and the first function of a thread, in which x30 is undefined. */
    assert_int_equal(READ_WRITTEN(&aarch64, "zRS", 30, "").base, QMPI_FRAME_SIGNAL);
    assert_int_equal(READ_WRITTEN(&aarch64, "zRB", 30, "\x07\x1e").base, QMPI_FRAME_END);
    /* The return address is signed together with the address of the signing instruction. */
    assert_rule(READ_WRITTEN(&aarch64, "zRB", 30, "\x2c\x0e\x10\x9e\x02"), QMPI_FRAME_SP, 16, 0, 2);
    /* Not supported: a return address that was moved to another register; one that is still in its
     * register although the frame is found by the frame pointer; another column for the return
     * address. */
    assert_int_equal(READ_WRITTEN(&aarch64, "zRB", 30, "\x09\x1e\x09").base, QMPI_FRAME_UNKNOWN);
    assert_int_equal(READ_WRITTEN(&aarch64, "zRB", 30, "\x0d\x1d").base, QMPI_FRAME_UNKNOWN);
    assert_int_equal(READ_WRITTEN(&aarch64, "zRB", 16, "").base, QMPI_FRAME_UNKNOWN);
}

static void features_of_another_processor_are_not_supported(void **unused)
{
    (void)unused;
    assert_int_equal(READ_WRITTEN(&x86_64, "zRL", 16, "\x0c\x07\x10\x90\x01").base, QMPI_FRAME_SP);
    assert_int_equal(READ_WRITTEN(&x86_64, "zRB", 16, "\x0c\x07\x10\x90\x01").base,
                     QMPI_FRAME_UNKNOWN);
    assert_int_equal(READ_WRITTEN(&x86_64, "zRL", 16, "\x2d\x0c\x07\x10\x90\x01").base,
                     QMPI_FRAME_UNKNOWN);
    assert_int_equal(READ_WRITTEN(&x86_64, "zRL", 16, "\x0c\x07\x10").base, QMPI_FRAME_UNKNOWN);
}

/* Sets each byte to 16 values, and cuts the records short. Nothing outside the bytes may be read,
 * which the sanitizers check. */
static void damage_records(const unsigned char *original, size_t size, size_t place)
{
    unsigned char bytes[sizeof signed_bytes];
    assert_true(size <= sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        for (unsigned value = 0; value < 256; value += 17) {
            memcpy(bytes, original, size);
            bytes[i] = (unsigned char)value;
            for (uintptr_t at = 0; at < 0x40; at += 4) {
                const struct qmpi_frame_rule rule =
                    read_rule(&aarch64, bytes, size - i / 3, place, at);
                assert_true(rule.base <= QMPI_FRAME_LEAF);
                assert_true(rule.base == QMPI_FRAME_UNKNOWN || rule.ra >= 0);
            }
        }
    }
}

static void damaged_records_are_read_without_a_fault(void **unused)
{
    (void)unused;
    damage_records(signed_bytes, sizeof signed_bytes, 0x40);
    damage_records(scaling_bytes, sizeof scaling_bytes, 0x60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_that_sign_their_return_address_have_rules),
        cmocka_unit_test(functions_without_frame_pointer_have_rules),
        cmocka_unit_test(functions_with_scalable_vectors_have_rules),
        cmocka_unit_test(functions_whose_return_address_was_pushed_have_rules),
        cmocka_unit_test(code_of_linkers_through_which_functions_are_called_has_rules),
        cmocka_unit_test(special_functions_have_rules_of_their_own),
        cmocka_unit_test(features_of_another_processor_are_not_supported),
        cmocka_unit_test(damaged_records_are_read_without_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
