/* SPDX-License-Identifier: MIT */
/* Tests the tables of handles and constants of this MPI library and of the standard ABI, in both
 * directions. */
#include "entries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct handle_entry handles[HANDLE_ENTRIES];
static size_t handle_count;

static int set_up(void **state)
{
    (void)state;
    handle_count = list_handles(handles);
    qmpi_abi_start();
    return handle_count < HANDLE_ENTRIES ? 0 : -1;
}

/* Returns whether the MPI library supports what a handle stands for. If not, `native` is 0 or the
 * handle of another entry. */
static int is_supported(const struct handle_entry *entry)
{
    for (size_t i = 0; i < handle_count; i++) {
        const struct handle_entry *other = &handles[i];
        if (other->kind == entry->kind && other->native == entry->native && other->abi < entry->abi)
            return 0;
    }
    return entry->native != 0 || entry->kind == QMPIX_KIND_FILE;
}

static void test_every_predefined_handle_has_its_counterpart(void **state)
{
    int supported = 0;
    (void)state;
    for (size_t i = 0; i < handle_count; i++) {
        const struct handle_entry *entry = &handles[i];
        if (entry->native || entry->kind == QMPIX_KIND_FILE)
            assert_int_equal(qmpi_abi_to_handle(entry->abi), entry->native);
        if (!is_supported(entry))
            continue;
        supported++;
        if (qmpi_abi_from_handle(entry->kind, entry->native) != entry->abi)
            fail_msg("%s: %#zx is %#zx instead of %#zx", entry->name, (size_t)entry->native,
                     (size_t)qmpi_abi_from_handle(entry->kind, entry->native), (size_t)entry->abi);
    }
    assert_true(supported >= 75);
}

static void test_other_handles_keep_their_bits(void **state)
{
    (void)state;
    for (uintptr_t bits = 0x44000003; bits < 0x44000400; bits++) {
        assert_int_equal(qmpi_abi_from_handle(QMPIX_KIND_COMM, bits), bits);
        assert_int_equal(qmpi_abi_to_handle(bits), bits);
    }
}

static void test_a_kind_does_not_see_the_handles_of_another(void **state)
{
    (void)state;
    const uintptr_t native = qmpi_abi_bits_MPI_Datatype(MPI_INT);
    assert_int_equal(qmpi_abi_from_handle(QMPIX_KIND_DATATYPE, native), 0x209);
    assert_int_equal(qmpi_abi_from_handle(QMPIX_KIND_COMM, native), native);
}

static void test_every_constant_has_its_counterpart(void **state)
{
    (void)state;
    for (const struct constant_entry *entry = constants; entry->name; entry++) {
        const QMPIX_Constants meaning = (QMPIX_Constants)entry->meaning;
        if (qmpi_abi_from_native_number(meaning, entry->native) != entry->abi ||
            qmpi_abi_to_native_number(meaning, entry->abi) != entry->native)
            fail_msg("%s: %d is %d instead of %d, and back %d", entry->name, entry->native,
                     qmpi_abi_from_native_number(meaning, entry->native), entry->abi,
                     qmpi_abi_to_native_number(meaning, entry->abi));
    }
}

/* Tests that no two values of the MPI library become the same value of the ABI. */
static void test_integers_convert_back(void **state)
{
    (void)state;
    for (int meaning = 0; meaning < QMPIX_CONSTANTS_WEIGHTS; meaning++) {
        if (qmpi_abi_numbers[meaning].bits)
            continue;
        for (int value = meaning <= QMPIX_CONSTANTS_TAG ? -40000 : 0; value < 40000; value++) {
            const int abi = qmpi_abi_from_native_number((QMPIX_Constants)meaning, value);
            assert_int_equal(qmpi_abi_to_native_number((QMPIX_Constants)meaning, abi), value);
        }
    }
}

static void test_combined_modes_are_converted_bit_by_bit(void **state)
{
    (void)state;
    assert_int_equal(
        qmpi_abi_from_native_number(QMPIX_CONSTANTS_FILE_MODE, MPI_MODE_CREATE | MPI_MODE_WRONLY),
        2 | 256);
    assert_int_equal(qmpi_abi_to_native_number(QMPIX_CONSTANTS_FILE_MODE, 2 | 256),
                     MPI_MODE_CREATE | MPI_MODE_WRONLY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_predefined_handle_has_its_counterpart),
        cmocka_unit_test(test_other_handles_keep_their_bits),
        cmocka_unit_test(test_a_kind_does_not_see_the_handles_of_another),
        cmocka_unit_test(test_every_constant_has_its_counterpart),
        cmocka_unit_test(test_integers_convert_back),
        cmocka_unit_test(test_combined_modes_are_converted_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
