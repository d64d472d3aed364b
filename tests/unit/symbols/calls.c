/* SPDX-License-Identifier: MIT */
void where_(void);
void where_and_exit(void) __attribute__((noreturn));
void exported(void);

static inline __attribute__((always_inline)) void inlined(void)
{
    where_(); /* line: inlined */
}

static __attribute__((noinline)) void hidden(void)
{
    where_(); /* line: hidden */
    __asm__ volatile("");
}

__attribute__((noinline, visibility("default"))) void exported(void)
{
    inlined();
    __asm__ volatile("");
}

/* No instruction follows the call, so the return address is the address of the next function. */
static __attribute__((noinline)) void last(void)
{
    where_and_exit(); /* line: last */
}

int main(void)
{
    hidden();
    exported();
    where_(); /* line: main */
    last();
}
