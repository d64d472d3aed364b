# SPDX-License-Identifier: MIT
"""libqmpi also exports the inline functions of its headers, for tools in other languages."""
from support import run_mpi


def test_a_tool_that_uses_the_exported_functions_passes_calls_on():
    result = run_mpi("calls", "init", "comm_rank", "finalize", ranks=1,
                     tools="by_symbol:alpha,functions=Comm_rank:by_symbol")
    assert result.returncode == 0
    assert "comm_rank: result 0" in result.stdout
    rank = result.calls[result.calls.index("app comm_rank") + 1:result.calls.index("app finalize")]
    assert rank == ["by_symbol 1 has its own", "alpha 2 MPI_Comm_rank", "by_symbol 3 has its own",
                    "by_symbol caller known", "by_symbol caller known"]
