-- SPDX-License-Identifier: MIT
-- A module file for Lmod. Set the prefix, and copy it to qmpi/VERSION.lua in the directory of module files.
local prefix = os.getenv("QMPI_PREFIX") or "/opt/qmpi"
local libdir = pathJoin(prefix, "lib/x86_64-linux-gnu") -- lib/aarch64-linux-gnu on aarch64; lib64 on other systems than Debian, and if qmpi was built without dpkg-dev

help([[Several MPI tools at once on one unmodified program: qmpi run -t profile:trace -- ./app]])
whatis("Name: qmpi")
whatis("Description: several MPI tools at once on one unmodified program")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
append_path("MANPATH", "") -- an empty element stands for the manual pages of the system
prepend_path("PKG_CONFIG_PATH", pathJoin(libdir, "pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)

-- Puts the site's stack in every job, whatever its MPI, without `qmpi run`. Leave this out if a TaskProlog does it, or
-- if users are to decide themselves.
prepend_path("LD_PRELOAD", pathJoin(libdir, "qmpi-any/libqmpi-any.so"))
