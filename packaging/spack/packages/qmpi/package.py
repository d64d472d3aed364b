# SPDX-License-Identifier: MIT
# See packaging/README.md for how far this recipe has been tried.
import os

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage  # since Spack 1.0
except ImportError:
    pass
try:
    from spack.package import *  # since Spack 0.18
except ImportError:
    from spack import *


class Qmpi(MesonPackage):
    """Runs several MPI tools at once on one unmodified program: tools that are written for the QMPI draft of the MPI
    Forum, and existing PMPI tools. One installation serves all versions of its MPI, and all compilers."""

    # No release has been published yet: the source is the clone in which this recipe is.
    homepage = "https://www.mpi-forum.org/"
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))

    version("main", branch="main")

    variant("otf2", default=True, description="The tool trace writes OTF2")
    variant("zstd", default=True, description="The tool trace compresses its files")
    variant("man", default=False, description="Manual pages")
    variant("static", default=False, description="libqmpi.a, for programs that contain their MPI library")

    depends_on("mpi")
    depends_on("jansson")
    depends_on("elfutils")
    depends_on("zlib")
    depends_on("zstd", when="+zstd")
    depends_on("otf2@3:", when="+otf2")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.7:", type="build")
    depends_on("py-pycparser@2.20:", type="build")
    depends_on("go-md2man", type="build", when="+man")

    def meson_args(self):
        # The build compiles with the compiler of the specification, and asks mpicc where its MPI is.
        return ["-Dtests=false", "-Dmpi={0}".format(self.spec["mpi"].mpicc),
                "-Dstatic={0}".format("true" if "+static" in self.spec else "false")]
