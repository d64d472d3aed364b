# SPDX-License-Identifier: MIT
"""Calls MPI through mpi4py: mpi4py_calls.py CASE. Comments mark the lines that the tests look for."""
import os
import signal
import sys
import threading
import time

from mpi4py import MPI  # import

world = MPI.COMM_WORLD
rank = world.Get_rank()


def exchange():
    for _ in range(5):
        if rank == 0:
            world.send({"a": [1, 2]}, dest=1)  # pickled send
            world.Send(bytearray(8), dest=1)  # buffer send
        else:
            world.recv(source=0)  # pickled receive
            world.Recv(bytearray(8), source=0)  # buffer receive


def lines():
    exchange()  # exchange
    requests = [world.isend(1, dest=1 - rank), world.irecv(source=1 - rank)]  # begin
    MPI.Request.waitall(requests)  # complete
    world.bcast([1], root=0)  # pickled broadcast
    world.Barrier()  # barrier


def callback():
    def add(first, second, datatype):
        MPI.COMM_SELF.Barrier()  # called back

    operation = MPI.Op.Create(add, commute=True)
    here, there = bytearray(8), bytearray(8)
    world.Allreduce([here, 8, MPI.BYTE], [there, 8, MPI.BYTE], operation)  # reduce
    operation.Free()


def threads():
    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
    copies = [world.Dup() for _ in range(2)]

    def work(comm):
        for _ in range(50):
            comm.sendrecv(1, dest=1 - rank, source=1 - rank)  # thread

    several = [threading.Thread(target=work, args=(comm,)) for comm in copies]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()


def late():
    if rank == 0:
        world.Recv(bytearray(8), source=1)  # late
    else:
        time.sleep(.5)
        world.Send(bytearray(8), dest=0)


def hang():
    threading.Timer(3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    if rank == 0:
        world.recv(source=1, tag=7)  # hang 0
    else:
        world.Barrier()  # hang 1


globals()[sys.argv[1]]()
