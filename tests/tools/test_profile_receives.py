# SPDX-License-Identifier: MIT
"""For a nonblocking receive, profile counts the received bytes at the call that posted the receive, however the receive
is completed."""
import json
import subprocess
from collections import Counter

import pytest
from profile_support import QMPI, STEPS, functions, load, report, run_steps
from support import clean_environment

pytestmark = pytest.mark.usefixtures("separate_nodes")

# The number of bytes that profile counts for the nonblocking receives of each function of the program; the buffers are
# larger. For MPI_Isendrecv, MPI does not provide the number.
CAME = {
    "wait_ignoring": 8, "test_until": 9, "waitall_ignoring": sum(range(40)), "waitall": 30,
    "testall_ignoring": 3, "waitany_and_testany": 110, "waitsome_and_testsome": 0x1111, "imrecv": 5, "matched": 6,
    "cancelled": 0, "from_nobody": 0, "freed": 0, "completed_unseen": 3, "persistent": 348,
    "again_and_again": 2000, "by_another_thread": 11, "post_and_wait": 500 * (1 + 2 + 3),
    "switched": 40, "completed_while_off": 0, "isendrecv": 0, "file": 7,
}
# The number of receives that are posted and whose completion is not seen: one each in `freed`, `completed_unseen` and
# `completed_while_off`. (`completed_unseen` also has a receive of 3 bytes whose completion is seen.) A receive by
# MPI_Isendrecv is not included.
UNFINISHED = 3
POSTING = ("MPI_Irecv", "MPI_Imrecv", "MPI_Start", "MPI_Startall", "MPI_Isendrecv", "MPI_File_iread_at")


def run(tmp_path, form="json", tools="profile", name="out"):
    result = run_steps(cwd=tmp_path, program=STEPS.with_name("tools_receives"), ranks=1,
                       tools=f"{tools},output={name},format={form}")
    assert result.returncode == 0 and result.messages == []
    return load(tmp_path / name) if form == "json" else None


def came(result):
    places = Counter()
    for site in result["callsites"]:
        if site["name"] in POSTING:
            places[site["frames"][0]["function"]] += site["bytes"]["received"]
    return dict(places)


def test_received_bytes_are_counted_at_the_call_that_posted_the_receive(tmp_path):
    result = run(tmp_path)
    seen = came(result)
    assert seen == {place: CAME[place] for place in seen}
    assert set(CAME) - set(seen) <= {"isendrecv", "by_another_thread", "post_and_wait"}
    assert result["unfinished_receives"] == UNFINISHED + ("isendrecv" in seen)
    rows = functions(result)
    assert sum(rows[name]["bytes"]["received"] for name in POSTING if name in rows) == sum(seen.values())
    assert all(rows[name]["bytes"]["received"] == 0 for name in ("MPI_Wait", "MPI_Waitall", "MPI_Testsome"))


def test_each_call_is_in_the_bin_of_the_received_size(tmp_path):
    result = run(tmp_path)
    rows = functions(result)
    for row in rows.values():
        assert sum(number for _, number in row["sizes"]) + row["no_bytes"] == row["calls"]
    sizes = dict(rows["MPI_Irecv"]["sizes"])
    assert sizes[1] == 1004 + 1000 * ("post_and_wait" in came(result))  # 2 or 3 bytes
    assert max(sizes) == 12  # 4096 to 8191 bytes: the largest message has 4096 bytes, less than its buffer


def test_bytes_of_communicators_and_unfinished_receives_are_reported(tmp_path):
    result = run(tmp_path)
    self_row, = (comm for comm in result["communicators"] if comm["name"] == "MPI_COMM_SELF")
    assert self_row["bytes"]["received"] == sum(came(result).values()) - CAME["matched"] - CAME["file"]
    file, = result["files"]
    assert file["bytes"]["received"] == CAME["file"]
    number = UNFINISHED + ("isendrecv" in came(result))
    assert f"(the completion of {number} nonblocking or persistent receives was not seen" in report(tmp_path / "out")
    run(tmp_path, form="csv", name="csv")
    assert f"run,,unfinished_receives,{number}," in (tmp_path / "csv").read_text()


def test_matched_receives_belong_to_the_communicator_of_their_probe(tmp_path):
    """This applies to the profile of the run and to that of its trace."""
    result = run_steps(cwd=tmp_path, program=STEPS.with_name("tools_receives"), ranks=1,
                       tools="profile,output=out.json:trace,output=trace,format=own")
    assert result.returncode == 0 and result.messages == []
    done = subprocess.run([QMPI, "report", "--format=json", tmp_path / "trace"], env=clean_environment(), text=True,
                          capture_output=True, check=True)
    # Two calls of MPI_Isend, then MPI_Mprobe, MPI_Mrecv, MPI_Imrecv, MPI_Barrier and MPI_Comm_free;
    # in the run also MPI_Comm_set_name.
    for profile, count in ((load(tmp_path / "out.json"), 8), (json.loads(done.stdout), 7)):
        comm, = (comm for comm in profile["communicators"] if comm["name"] == "matched")
        polls = functions(profile)["MPI_Improbe"]["calls"]
        assert (comm["calls"] - polls, comm["bytes"]["received"]) == (count, 7 + 6)


def test_two_layers_and_deep_call_sites_see_the_same(tmp_path):
    result = run_steps(cwd=tmp_path, program=STEPS.with_name("tools_receives"), ranks=1,
                       tools="profile,output=1,format=json:profile,output=2,format=json,depth=3")
    assert result.returncode == 0 and result.messages == []
    upper, lower = came(load(tmp_path / "1")), came(load(tmp_path / "2"))
    # The variable that completed_while_off() sets switches only the upper layer.
    assert lower == upper | {"completed_while_off": 1008}
