# SPDX-License-Identifier: MIT
"""Checks rules of MPI_T, each by one case in programs/conform_*.c, for each kind of client and position in a stack."""
import re

import pytest

from mpit_support import SOURCES, knows_all_handles, run_mpit
from support import MPI_NAME, MPI_VERSION, OPEN_MPI

CASE = re.compile(r"CASE\((\w+), (LIBRARY|PUBLISHER)\)")
CASES = {name: need for path in sorted(SOURCES.glob("conform_*.c"))
         for name, need in CASE.findall(path.read_text(encoding="utf-8"))
         if MPI_VERSION >= 4 or "events" not in name}

# name -> (program, its arguments, how it is run)
CLIENTS = {
    "library alone": ("conform", [], {"preload": ()}),
    "no layer": ("conform", [], {}),
    "no publisher": ("conform", [], {"tools": "empty:alpha:now"}),
    "publisher": ("conform", [], {"tools": "publisher"}),
    "natives around": ("conform", [], {"tools": "empty:publisher:counter"}),
    "PMPI around": ("conform", [], {"tools": "now:publisher:now"}),
    "MPICH's variant around": ("conform", [], {"tools": "stock:publisher:stock"}),
    "second publisher": ("conform", [], {"tools": "publisher:now:publisher",
                                         "env": {"CONFORM_PUBLISHER": "publisher#2"}}),
    "native layer above": ("calls", ["init", "finalize"], {"tools": "conform_native:publisher"}),
    "native layer below": ("calls", ["init", "finalize"],
                           {"tools": "publisher:empty:conform_native"}),
    "PMPI layer above": ("calls", ["init", "finalize"],
                           {"tools": "conform_pmpi:empty:publisher"}),
    "PMPI layer below": ("calls", ["init", "finalize"],
                           {"tools": "publisher:now:conform_pmpi"}),
}
if MPI_NAME != "mpich":
    del CLIENTS["MPICH's variant around"]
# Clients without the layer `publisher`, for which the cases that need it are skipped.
ALONE = {"library alone", "no layer", "no publisher"}
# Rules that the named versions of the libraries do not follow. Later versions may follow them.
FAULTS = {
    "a_string_that_does_not_fit_is_cut_and_its_length_returned":
        "MPICH 4.0.2 and Open MPI 4.1.4 return the length that fitted, not the one that is needed",
}
if OPEN_MPI:
    FAULTS |= {
        "the_provided_thread_level_is_at_most_the_required_one":
            "Open MPI 4.1.4 stores the provided level only in the first initialization",
        "an_index_that_no_cvar_has_is_invalid":
            "Open MPI 4.1.4 calls an index out of range MPI_T_ERR_INVALID",
    }
STARTS_ALL = "starting_no_handles_is_no_error"
WITHOUT_LAYERS = {"library alone", "no layer"}  # the calls of these clients reach the library unchanged
OUTCOME = re.compile(r"^(ok|not ok|skip) (\w+)$", re.M)

runs = {}


def outcomes(client):
    if client not in runs:
        program, arguments, how = CLIENTS[client]
        without = {"CONFORM_WITHOUT": STARTS_ALL} if client in WITHOUT_LAYERS and not knows_all_handles() else {}
        runs[client] = run_mpit(program, *arguments, **how | {"env": how.get("env", {}) | without})
    result = runs[client]
    return result, {name: word for word, name in OUTCOME.findall(result.stdout)}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_case_has_an_outcome(client):
    result, found = outcomes(client)
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(found) == set(CASES)
    assert result.messages == []


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("client", CLIENTS)
def test_each_case_succeeds_with_each_client(client, name):
    result, found = outcomes(client)
    if name in FAULTS and client in ("library alone", "no layer") and found.get(name) == "not ok":
        pytest.xfail(FAULTS[name])
    if name == STARTS_ALL and client in WITHOUT_LAYERS and not knows_all_handles():
        pytest.skip("the MPI library alone crashes with MPI_T_PVAR_ALL_HANDLES")
    skipped = CASES[name] == "PUBLISHER" and client in ALONE
    assert found.get(name) == ("skip" if skipped else "ok"), result.stdout
