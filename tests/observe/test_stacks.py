# SPDX-License-Identifier: MIT
"""The observed values are the same at each position of the observer in the stack, with various
layers above and below it."""
import pytest

from observe_support import check_program, check_rank, run_observed, witness

pytestmark = pytest.mark.usefixtures("separate_nodes")

# (layers above, layers below): PMPI tools of tests/pmpi and native tools.
PLACES = [
    (["now"], []), ([], ["now"]), (["lazy"], ["next_pmpi"]), (["counter"], ["counter"]),
    (["empty", "now"], ["lazy", "counter"]),
]


@pytest.mark.parametrize("upper, lower", PLACES)
def test_observed_messages_do_not_depend_on_the_position(tmp_path, upper, lower):
    check_program("observe_point_to_point", tmp_path, upper=upper, lower=lower)


@pytest.mark.parametrize("upper, lower", PLACES[:3])
@pytest.mark.parametrize("name", ["completion", "persistent", "one_sided"])
def test_observed_requests_and_windows_do_not_depend_on_the_position(tmp_path, name, upper, lower):
    check_program(f"observe_{name}", tmp_path, upper=upper, lower=lower)


@pytest.mark.parametrize("upper, lower", PLACES[:2])
def test_observed_collectives_do_not_depend_on_the_position(tmp_path, upper, lower):
    check_program("observe_in_place", tmp_path, upper=upper, lower=lower)


def test_three_observers_agree(tmp_path):
    """If the program passes MPI_STATUS_IGNORE, the first observer passes a status to the lower ones."""
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder in folders:
        folder.mkdir()
    first, second, third = map(witness, folders)
    result = run_observed("observe_point_to_point", folders[0],
                          tools=f"{first}:{second}:now:{third}")
    assert (result.returncode, result.messages) == (0, [])
    for folder in folders[1:]:
        for rank in (0, 1):
            truth = folders[0] / f"expected.{rank}"
            (folder / truth.name).write_bytes(truth.read_bytes())
    for folder in folders:
        check_rank(folder, 0)
        check_rank(folder, 1)
