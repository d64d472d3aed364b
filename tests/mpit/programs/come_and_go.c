/* SPDX-License-Identifier: MIT */
/*
 * Initializes and finalizes MPI_T several times. The argument selects when: `before` MPI_Init,
 * `between` MPI_Init and MPI_Finalize, `after` MPI_Finalize, or at all three times (`around`).
 * While MPI_T is not initialized, its functions must return MPI_T_ERR_NOT_INITIALIZED. With the
 * argument `refused`, MPI_T_init_thread must fail after MPI_Finalize.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int got, int expected, const char *what)
{
    if (got == expected)
        return;
    printf("%s: %d, not %d\n", what, got, expected);
    exit(1);
}

static void not_initialised(void)
{
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_handle pvar = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    const int error = MPI_T_ERR_NOT_INITIALIZED;
    int number = 0;
#define NOT(call) expect(call, error, #call)
    NOT(MPI_T_finalize());
    NOT(MPI_T_cvar_get_num(&number));
    NOT(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    NOT(MPI_T_cvar_get_index("x", &number));
    NOT(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &number));
    NOT(MPI_T_cvar_handle_free(&cvar));
    NOT(MPI_T_cvar_read(cvar, &number));
    NOT(MPI_T_cvar_write(cvar, &number));
    NOT(MPI_T_pvar_get_num(&number));
    NOT(MPI_T_pvar_get_index("x", MPI_T_PVAR_CLASS_COUNTER, &number));
    NOT(MPI_T_pvar_session_create(&session));
    NOT(MPI_T_pvar_session_free(&session));
    NOT(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &number));
    NOT(MPI_T_pvar_handle_free(session, &pvar));
    NOT(MPI_T_pvar_start(session, pvar));
    NOT(MPI_T_pvar_stop(session, pvar));
    NOT(MPI_T_pvar_read(session, pvar, &number));
    NOT(MPI_T_pvar_write(session, pvar, &number));
    NOT(MPI_T_pvar_reset(session, pvar));
    NOT(MPI_T_pvar_readreset(session, pvar, &number));
    NOT(MPI_T_category_get_num(&number));
    NOT(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    NOT(MPI_T_category_get_index("x", &number));
    NOT(MPI_T_category_get_cvars(0, 1, &number));
    NOT(MPI_T_category_get_pvars(0, 1, &number));
    NOT(MPI_T_category_get_categories(0, 1, &number));
    NOT(MPI_T_category_changed(&number));
    NOT(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL));
    NOT(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &number, NULL, NULL));
#if MPI_VERSION >= 4
    NOT(MPI_T_event_get_num(&number));
    NOT(MPI_T_source_get_num(&number));
#endif
}

static void come_and_go(void)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    enum { LEVELS = sizeof levels / sizeof *levels };
    int provided, first = -1;
    for (int i = 0; i < 3; i++) {
        not_initialised();
        for (int level = 0; level < LEVELS; level++)
            expect(MPI_T_init_thread(levels[level], &provided), MPI_SUCCESS, "MPI_T_init_thread");
        int num = 0;
        expect(MPI_T_cvar_get_num(&num), MPI_SUCCESS, "MPI_T_cvar_get_num");
        expect(num, i ? first : num, "the number of variables");
        first = num;
        for (int level = 0; level < LEVELS; level++)
            expect(MPI_T_finalize(), MPI_SUCCESS, "MPI_T_finalize");
    }
    not_initialised();
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "";
    const int always = !strcmp(when, "around");
    if (always || !strcmp(when, "before"))
        come_and_go();
    MPI_Init(&argc, &argv);
    if (always || !strcmp(when, "between"))
        come_and_go();
    MPI_Finalize();
    if (!strcmp(when, "refused")) {
        int provided;
        expect(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_T_ERR_CANNOT_INIT,
               "MPI_T_init_thread");
        not_initialised();
    }
    if (always || !strcmp(when, "after"))
        come_and_go();
    puts("done");
    return 0;
}
