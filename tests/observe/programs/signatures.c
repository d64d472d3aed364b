/* SPDX-License-Identifier: MIT */
/*
 * Creates datatypes in many ways, and names them for the tool `signature`. The name is
 * SEQUENCE/HOW: SEQUENCE is the type signature, with a character for each basic type, and HOW makes
 * the name unique. With the argument `grow`, the program prints by how many bytes memory grows for
 * each pair of datatypes that are created and freed.
 */
#include <mpi.h>
#include <pthread.h>

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static void name_it(MPI_Datatype type, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s", name);
    MPI_Type_set_name(type, text);
}

static void drop(MPI_Datatype type, const char *name)
{
    name_it(type, name);
    name_it(type, name); /* now, the signature is taken from the cache */
    MPI_Type_free(&type);
}

static void name_basic_types(void)
{
    name_it(MPI_INT, "i/basic");
    name_it(MPI_UNSIGNED, "u/basic");
    name_it(MPI_LONG, "l/basic");
    name_it(MPI_INT32_T, "3/basic");
    name_it(MPI_INTEGER, "I/basic");
    name_it(MPI_CHAR, "c/basic");
    name_it(MPI_SIGNED_CHAR, "C/basic");
    name_it(MPI_BYTE, "b/basic");
    name_it(MPI_SHORT, "s/basic");
    name_it(MPI_FLOAT, "f/basic");
    name_it(MPI_DOUBLE, "d/basic");
    name_it(MPI_REAL, "r/basic");
    name_it(MPI_REAL4, "4/basic");
    name_it(MPI_DOUBLE_PRECISION, "D/basic");
    name_it(MPI_LONG_DOUBLE, "L/basic");
    name_it(MPI_AINT, "a/basic");
    name_it(MPI_LONG_LONG, "m/basic");
    name_it(MPI_LONG_LONG_INT, "m/synonym");
    name_it(MPI_C_COMPLEX, "x/basic");
    name_it(MPI_C_FLOAT_COMPLEX, "x/synonym");
    name_it(MPI_PACKED, "p/basic");
    name_it(MPI_DOUBLE_INT, "di/pair");
    name_it(MPI_FLOAT_INT, "fi/pair");
    name_it(MPI_LONG_INT, "li/pair");
    name_it(MPI_SHORT_INT, "si/pair");
    name_it(MPI_2INT, "ii/pair");
    name_it(MPI_LONG_DOUBLE_INT, "Li/pair");
    name_it(MPI_2REAL, "rr/pair");
    name_it(MPI_2INTEGER, "II/pair");
    name_it(MPI_2DOUBLE_PRECISION, "DD/pair");
}

static void name_vectors(void)
{
    MPI_Datatype type;
    MPI_Type_dup(MPI_INT, &type);
    drop(type, "i/dup");
    MPI_Type_contiguous(6, MPI_INT, &type);
    drop(type, "iiiiii/contiguous");
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    drop(type, "iiiiii/vector");
    MPI_Type_create_hvector(2, 3, 100, MPI_INT, &type);
    drop(type, "iiiiii/hvector");
    MPI_Type_indexed(3, (int[]){1, 0, 5}, (int[]){20, 5, 9}, MPI_INT, &type);
    drop(type, "iiiiii/indexed");
    MPI_Type_create_hindexed(2, (int[]){4, 2}, (MPI_Aint[]){64, 0}, MPI_INT, &type);
    drop(type, "iiiiii/hindexed");
    MPI_Type_create_indexed_block(2, 3, (int[]){7, 1}, MPI_INT, &type);
    drop(type, "iiiiii/indexed_block");
    MPI_Type_create_hindexed_block(3, 2, (MPI_Aint[]){0, 80, 40}, MPI_INT, &type);
    drop(type, "iiiiii/hindexed_block");
    MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_FORTRAN,
                             MPI_INT, &type);
    drop(type, "iiiiii/subarray");
    MPI_Type_create_darray(2, 1, 1, (int[]){12}, (int[]){MPI_DISTRIBUTE_CYCLIC},
                           (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2}, MPI_ORDER_C, MPI_INT,
                           &type);
    drop(type, "iiiiii/darray");
    MPI_Type_contiguous(2, MPI_INTEGER, &type);
    drop(type, "II/contiguous");
    MPI_Type_contiguous(0, MPI_INT, &type);
    drop(type, "/contiguous");
    MPI_Type_vector(0, 2, 5, MPI_DOUBLE, &type);
    drop(type, "/vector");
}

static MPI_Datatype structure(int first_count, MPI_Datatype first, int second_count,
                              MPI_Datatype second)
{
    MPI_Datatype type;
    MPI_Type_create_struct(2, (int[]){first_count, second_count}, (MPI_Aint[]){64, 0},
                           (MPI_Datatype[]){first, second}, &type);
    return type;
}

static void name_structures(void)
{
    MPI_Datatype inner = structure(1, MPI_INT, 1, MPI_DOUBLE), type, other;
    name_it(inner, "id/struct");
    MPI_Type_contiguous(3, inner, &type);
    name_it(type, "ididid/contiguous");
    drop(structure(2, inner, 1, inner), "ididid/struct");
    drop(structure(1, type, 0, MPI_CHAR), "ididid/struct_of_contiguous");
    MPI_Type_vector(3, 1, 2, inner, &other);
    drop(other, "ididid/vector");
    MPI_Type_create_resized(type, -8, 500, &other);
    drop(other, "ididid/resized");
    MPI_Type_dup(type, &other);
    drop(other, "ididid/dup");
    MPI_Type_free(&inner);
    drop(structure(1, type, 1, MPI_INT), "idididi/struct");
    MPI_Type_free(&type);
    drop(structure(1, MPI_DOUBLE, 1, MPI_INT), "di/struct");
    drop(structure(3, MPI_INT, 3, MPI_DOUBLE), "iiiddd/struct");
    drop(structure(3, MPI_INT, 3, MPI_INT), "iiiiii/struct");
    drop(structure(0, MPI_INT, 0, MPI_INT), "/struct");
    drop(structure(1, MPI_2INT, 1, MPI_DOUBLE_INT), "iidi/struct");
    drop(structure(1, MPI_CHAR, 1, MPI_PACKED), "cp/struct");
    MPI_Type_contiguous(2, MPI_SHORT_INT, &type);
    drop(type, "sisi/contiguous");
    MPI_Type_create_struct(0, NULL, NULL, NULL, &type);
    drop(type, "/empty_struct");
#if MPI_VERSION >= 4
    MPI_Type_contiguous_c(6, MPI_INT, &type);
    drop(type, "iiiiii/contiguous_c");
    MPI_Type_create_struct_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){0, 8},
                             (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
    drop(type, "idd/struct_c");
#endif
    drop(structure(1, MPI_INT, 2, MPI_DOUBLE), "idd/struct");
}

static void name_f90_types(void)
{
    MPI_Datatype type, other;
    MPI_Type_create_f90_integer(5, &type);
    MPI_Type_contiguous(2, type, &other);
    drop(other, "55/f90_integer");
    MPI_Type_create_f90_real(6, 30, &type);
    MPI_Type_contiguous(2, type, &other);
    drop(other, "66/f90_real");
    MPI_Type_create_f90_real(6, 20, &type);
    MPI_Type_contiguous(2, type, &other);
    drop(other, "88/f90_real");
    MPI_Type_create_f90_real(12, 30, &type);
    MPI_Type_contiguous(2, type, &other);
    drop(other, "77/f90_real");
    drop(structure(1, type, 1, type), "77/struct");
}

static void *ask(void *data)
{
    MPI_Aint low, extent;
    MPI_Type_get_extent(*(MPI_Datatype *)data, &low, &extent);
    return NULL;
}

static void ask_in_threads(void)
{
    enum { THREADS = 4, TURNS = 50 };
    pthread_t threads[THREADS];
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Datatype inner = structure(1, MPI_INT, 1, MPI_DOUBLE), type;
        MPI_Type_contiguous(3, inner, &type);
        MPI_Type_free(&inner);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, ask, &type);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        if (turn == 0)
            name_it(type, "ididid/threads");
        MPI_Type_free(&type);
    }
}

static void grow(void)
{
    enum { COUNT = 4000 };
    struct mallinfo2 begin = mallinfo2();
    for (int i = 0; i < COUNT + 100; i++) {
        MPI_Datatype inner, type;
        if (i == 100)
            begin = mallinfo2();
        MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
        type = structure(2, inner, 1, MPI_DOUBLE_INT);
        ask(&type);
        MPI_Type_free(&inner);
        MPI_Type_free(&type);
    }
    const struct mallinfo2 end = mallinfo2();
    printf("growth: %ld\n", ((long)end.uordblks - (long)begin.uordblks) / COUNT);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc > 1 && !strcmp(argv[1], "grow")) {
        grow();
    } else {
        name_basic_types();
        name_vectors();
        name_structures();
        name_f90_types();
        ask_in_threads();
    }
    MPI_Finalize();
    return 0;
}
