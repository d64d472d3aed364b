# SPDX-License-Identifier: MIT
"""If a PMPI tool reads `environ`, it finds each variable once, with the value of its layer."""
from pmpi_support import run_pmpi


def test_environ_contains_the_variables_of_the_layer():
    tools = "environment,env.SHOWN=upper,env.HIDDEN=:environment:environment,env.SHOWN=lower"
    result = run_pmpi("calls", "init", "finalize", tools=tools, ranks=1,
                        env={"SHOWN": "outer", "HIDDEN": "there", "PLAIN": "same"})
    assert result.returncode == 0
    assert [line for line in result.trace if line.startswith("environment: ")] == [
        f"environment: {name} is {value}, {value}, {value}"
        for shown, hidden in (("upper", ""), ("outer", "there"), ("lower", "there"))
        for name, value in (("SHOWN", shown), ("HIDDEN", hidden), ("PLAIN", "same"))]
