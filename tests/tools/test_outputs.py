# SPDX-License-Identifier: MIT
"""output= of all bundled tools: a file is one layer's alone; a device or a FIFO is anybody's."""
import os

import pytest
from support import BUNDLED_TOOLS, run_mpi

TOOLS = ["log", "count", "profile", "mpit"]


def run(tools, *steps, **more):
    return run_mpi("calls", *steps, ranks=1, tools=tools, env={"QMPI_TOOL_PATH": BUNDLED_TOOLS},
                   **more)


def layers_with(output):
    return ":".join(f"{tool},output={output}" for tool in TOOLS + TOOLS)


@pytest.mark.parametrize("end", ["finalize", "comm_rank"])
def test_all_layers_may_write_to_one_device(tmp_path, end):
    device = tmp_path / "null"  # by another name, so that what is made beside it is seen
    device.symlink_to("/dev/null")
    result = run(layers_with(device), "init", "barrier", end)
    assert result.returncode == 0 and "the same file" not in result.stderr
    assert device.is_symlink() and os.listdir(tmp_path) == ["null"]


def test_all_layers_may_write_to_one_fifo(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # what is written fits into it
    try:
        result = run(f"log,output={fifo}:count,output={fifo}:log,output={fifo}",
                     "init", "barrier", "finalize")
        assert result.returncode == 0
        text = os.read(reader, 1 << 16).decode()
    finally:
        os.close(reader)
    assert text.count("MPI_Barrier(") == 2 and '"schema": "qmpi-count/1"' in text


@pytest.mark.parametrize("tool", TOOLS)
def test_one_file_is_one_layers(tmp_path, tool):
    result = run(f"{tool},output=x:{tool},output=x", "init", "finalize", cwd=tmp_path)
    assert result.returncode == 2 and "the same file" in result.stderr
