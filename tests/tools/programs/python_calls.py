# SPDX-License-Identifier: MIT
"""Calls MPI through ctypes: python_calls.py CASE. Comments mark the lines that the tests look for."""
import ctypes
import os
import signal
import sys
import threading
import time

mpi = ctypes.CDLL(os.environ["PYTHON_CALLS_LIBRARY"], ctypes.RTLD_GLOBAL)


def handle(mpich, openmpi, abi):
    if os.environ["PYTHON_CALLS_MPI"] == "mpich":
        return ctypes.c_int(mpich)
    if os.environ["PYTHON_CALLS_MPI"] == "abi":
        return ctypes.c_void_p(abi)
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, openmpi)))


WORLD = handle(0x44000000, "ompi_mpi_comm_world", 0x101)
INT = handle(0x4c000405, "ompi_mpi_int", 0x209)
MULTIPLE = 4096 if os.environ["PYTHON_CALLS_MPI"] == "abi" else 3
number = ctypes.c_int()
status = ctypes.create_string_buffer(64)


def rank():
    mpi.MPI_Comm_rank(WORLD, ctypes.byref(number))
    return number.value


def inner():
    mpi.MPI_Barrier(WORLD)  # inner


def outer():
    inner()  # outer


def lines():
    for _ in range(3):
        mpi.MPI_Barrier(WORLD), mpi.MPI_Barrier(WORLD)  # twice
    outer()
    for _ in (mpi.MPI_Barrier(WORLD) for _ in range(2)):  # generator
        pass
    mpi.MPI_Barrier(  # long
        WORLD)


def generated():
    """Compiles and executes code repeatedly. Each code object is freed before the next one is made, usually at the same
    address."""
    for i in range(100):
        exec(compile("\n" * i + "mpi.MPI_Barrier(WORLD)", "made.py", "exec"))


def threads():
    def work():
        mine = ctypes.c_int()
        for _ in range(300):
            mpi.MPI_Comm_rank(WORLD, ctypes.byref(mine))  # thread

    several = [threading.Thread(target=work) for _ in range(4)]
    for thread in several:
        thread.start()
    for _ in range(300):
        mpi.MPI_Comm_rank(WORLD, ctypes.byref(number))  # no thread
    for thread in several:
        thread.join()


def handler():
    def handle_signal(*_):
        mpi.MPI_Barrier(WORLD)  # handler

    signal.signal(signal.SIGUSR1, handle_signal)
    for _ in range(20):
        signal.raise_signal(signal.SIGUSR1)
        mpi.MPI_Comm_rank(WORLD, ctypes.byref(number))


Copy = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                        ctypes.POINTER(ctypes.c_int))
Delete = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
delete_nothing = Delete(lambda *_: 0)


def dup(copy):
    """Duplicates MPI_COMM_WORLD. Meanwhile, a callback of MPI calls `copy`."""
    def copy_nothing(*arguments):
        copy()
        arguments[-1][0] = 0
        return 0

    function = Copy(copy_nothing)
    key, new = ctypes.c_int(), ctypes.c_void_p()
    mpi.MPI_Comm_create_keyval(function, delete_nothing, ctypes.byref(key), None)
    mpi.MPI_Comm_set_attr(WORLD, key, None)
    mpi.MPI_Comm_dup(WORLD, ctypes.byref(new))  # dup


def callback():
    dup(lambda: mpi.MPI_Barrier(WORLD))  # called back


def ending():
    dup(lambda: os.kill(os.getpid(), signal.SIGTERM))
    time.sleep(60)


def late():
    if rank() == 0:
        mpi.MPI_Recv(ctypes.byref(number), 1, INT, 1, 7, WORLD, status)  # late
    else:
        time.sleep(.5)
        mpi.MPI_Send(ctypes.byref(number), 1, INT, 0, 7, WORLD)


def hang():
    threading.Timer(3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    if rank() == 0:
        mpi.MPI_Recv(ctypes.byref(number), 1, INT, 1, 7, WORLD, status)  # hang 0
    else:
        mpi.MPI_Barrier(WORLD)  # hang 1


def finalizing():
    """Threads continue to call MPI while the interpreter ends."""
    def work():
        while True:
            mpi.MPI_Comm_rank(WORLD, ctypes.byref(ctypes.c_int()))

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(.2)
    sys.exit(0)


provided = ctypes.c_int()
mpi.MPI_Init_thread(None, None, MULTIPLE, ctypes.byref(provided))
globals()[sys.argv[1]]()
mpi.MPI_Finalize()
