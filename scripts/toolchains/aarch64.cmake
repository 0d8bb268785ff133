# Cross-build for AArch64 Linux; tests run under qemu-user:
#   cmake -S . -B build/aarch64 -G Ninja --toolchain scripts/toolchains/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Packages are the build machine's: what is built for Arm uses their headers alone.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
