#%Module1.0
# SPDX-License-Identifier: MIT
# A module file for Environment Modules, also read by Lmod. Set the prefix, and copy it to qmpi/VERSION in the directory
# of module files.
set prefix /opt/qmpi
if {[info exists env(QMPI_PREFIX)]} { set prefix $env(QMPI_PREFIX) }
set libdir $prefix/lib/x86_64-linux-gnu ;# lib/aarch64-linux-gnu on aarch64; lib64 on other systems than Debian, and if qmpi was built without dpkg-dev

proc ModulesHelp {} {
    puts stderr "Several MPI tools at once on one unmodified program: qmpi run -t profile:trace -- ./app"
}
module-whatis "several MPI tools at once on one unmodified program"

prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
append-path MANPATH {} ;# an empty element stands for the manual pages of the system
prepend-path PKG_CONFIG_PATH $libdir/pkgconfig
prepend-path CMAKE_PREFIX_PATH $prefix

# Puts the site's stack in every job, whatever its MPI, without `qmpi run`. Leave this out if a TaskProlog does it, or
# if users are to decide themselves.
prepend-path LD_PRELOAD $libdir/qmpi-any/libqmpi-any.so
