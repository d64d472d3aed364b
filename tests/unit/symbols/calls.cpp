// SPDX-License-Identifier: MIT
extern "C" void where_(void);

namespace grid
{
template <typename T> struct halo {
    __attribute__((noinline)) void exchange(const T &, int)
    {
        where_(); /* line: exchange */
        asm volatile("");
    }
};
} // namespace grid

int main()
{
    grid::halo<double>().exchange(1.0, 2);
    []() __attribute__((noinline))
    {
        where_(); /* line: lambda */
        asm volatile("");
    }();
}
