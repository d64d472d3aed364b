# SPDX-License-Identifier: MIT
"""Tests that headers with attributes, with C23 and with GNU's extensions are read, and that these
additions do not change how the functions are read."""
import generate_support as support  # adds the path of c_extensions
import c_extensions
import mpi_header
import pytest
from pycparser import c_parser

# Each extension stands between two functions, which must be read as if it were absent.
ODDITIES = {
    "attribute": 'extern int a __attribute__((visibility("default"), aligned (8)));',
    "attribute_of_a_structure": "struct __attribute__((packed)) s { int a; } __attribute__((aligned(4)));",
    "attribute_before_a_body": "static int f(void) __attribute__((noinline)); static int f(void) { return 1; }",
    "standard_attribute": 'typedef enum [[deprecated("say ]] so")]] { A [[maybe_unused]] = 1, B } e;',
    "attribute_of_an_array": "extern int a[2] [[gnu::aligned(16)]], b[sizeof(int[3])];",
    "declspec": "extern __declspec(dllimport) int __cdecl f(void);",
    "asm_name": 'extern int f(int) __asm__ ("" "f" "_64") __attribute__((nothrow));',
    "static_assert": '_Static_assert(sizeof(int) == 4, "; (");',
    "static_assert_of_c23": 'static_assert(sizeof(int) == 4); struct s { int a; static_assert(1); int b; };',
    "bit_int": "typedef unsigned _BitInt(128) wide; typedef _BitInt(sizeof(int) * 8) narrow;",
    "floats": "extern _Float16 a; extern _Float32 b; extern _Float64x c; extern _Float128 _Complex d;",
    "vendor_floats": "extern __float128 a; extern __bf16 b; extern __ibm128 c; extern _Decimal64 d;",
    "int128": "typedef unsigned __int128 wide; typedef __int128_t narrow; extern __uint128_t a;",
    "typeof": "typedef __typeof__(nullptr) nullptr_t; extern typeof(int (*)[3]) *a; extern typeof_unqual(1) b;",
    "inline_function": "static __inline int f(int a) { if (a) { return '{'; } return sizeof \"}\"; }",
    "function_with_statements_in_it": "static inline int f(int a) { return ({ int b = a; __label__ l; l: b; }); }",
    "assembler_in_a_function": 'static void f(void) { __asm__ volatile goto ("nop; {" : : : : l); l:; }',
    "initializer": "static const int a = ({ 1; }), b = (int){2}; static int c[] = {1, 2}, d;",
    "typed_enumeration": "enum e : unsigned char { A, B = 1'000, C = 0x7f'ff }; struct s { enum e : 3; int a : 2; };",
    "words_of_c23": "constexpr int a = 1; extern thread_local bool b; extern void *c = nullptr;",
    "bool_of_the_header": "typedef enum { false, true } bool; extern bool a;",
    "aligned": "struct s { alignas(16) char a; _Alignas(long double) char b; };",
    "nullability": "extern int *_Nonnull f(int *_Nullable a, const char *__restrict b);",
    "va_list": "typedef __builtin_va_list va; extern int f(const char *format, __builtin_va_list list);",
    "offset": "struct s { int a, b; }; extern char a[__builtin_offsetof(struct s, b)];",
    "old_spellings": "extern __const int a; extern __volatile__ __signed__ char b; extern __complex__ double c;",
    "pragmas": '_Pragma("pack(1)") extern int a;\n#pragma GCC visibility push(default)\nextern int b;\n',
    "pragma_in_a_function": "static int f(void)\n{\n#pragma GCC unroll 2\n    return 0;\n}\n",
}


def functions(tmp_path, text):
    header = tmp_path / "mpi.i"
    header.write_text(text, encoding="utf-8")
    tree = mpi_header.parse(str(header))
    return {f.name: f for f in mpi_header.read_functions(tree, [], {"MPI_Send", "MPI_Recv"})}


@pytest.mark.parametrize("name", ODDITIES)
def test_a_header_with_an_extension_is_read(name, tmp_path):
    found = functions(tmp_path, "int MPI_Send(const void *buf, int count);\n" + ODDITIES[name] +
                      "\nint MPI_Recv(void *buf, int ranges[][3]);\n")  # fmt: skip
    texts = {each: [p.text for p in function.parameters] for each, function in found.items()}
    assert texts == {"MPI_Send": ["const void *buf", "int count"],
                     "MPI_Recv": ["void *buf", "int ranges[][3]"]}


def test_a_declaration_with_many_extensions_keeps_its_parameters(tmp_path):
    found = functions(tmp_path, """
        [[nodiscard]] __extension__ __attribute__((visibility("default"))) extern
        int MPI_Send(const void *__restrict buf [[maybe_unused]], _Float128 *_Nonnull value,
                     int ranges[][3] __attribute__((unused)), ...) __asm__("MPI_Send") __attribute__((nonnull(1)));
    """)
    send = found["MPI_Send"]
    assert [p.text for p in send.parameters] == ["const void *buf", "long double *value", "int ranges[][3]"]
    assert send.variadic and send.result == "int"


def test_lines_keep_their_numbers():
    text = 'int a __attribute__((\n\nunused));\nstatic int f(void)\n{\n    return 1;\n}\nint b;\n# 7 "other.h"\nint c;\n'
    result = c_extensions.simplify(text)
    assert result.count("\n") == text.count("\n")
    assert result.split("\n")[7] == "int b;"
    assert '# 7 "other.h"\n' in result


def test_text_that_ends_within_an_extension_causes_no_error():
    for text in ("int a __attribute__((x", "int f(void) { if (1) {", "int a = (1", "enum e :", "[[x", "typeof("):
        c_extensions.simplify(text)


@pytest.mark.parametrize("standard", ["c11", "gnu17", "gnu2x"])
def test_the_headers_of_the_system_can_be_parsed(standard, tmp_path):
    names = "stddef stdlib stdbool stdio string math complex pthread signal stdatomic arpa/inet"
    names += " xmmintrin" if standard == "gnu17" else ""
    source = tmp_path / "system.c"
    source.write_text("".join(f"#include <{name}.h>\n" for name in names.split()), encoding="utf-8")
    text = support.run(*support.CC, f"-std={standard}", "-D_GNU_SOURCE", "-E", source)
    assert c_parser.CParser().parse(c_extensions.simplify(text))
