#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# consumer.sh - programs outside the tree find the installed library through
# pkg-config and CMake, link, and train; in C11 and in C++17, and README.md's
# example; and the installed examples.

. "${srcdir:-.}/tests/lint/tap.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
root=$tmp/root
mkdir "$root" "$tmp/outside"
if ! tap_run 'make install DESTDIR=... works' \
    $MAKE -C "$builddir" install DESTDIR="$root"; then
    tap_done 1
fi

# In $root the tree is not at its prefix: sesqui.pc must know where it is.
unset PKG_CONFIG_SYSROOT_DIR
PKG_CONFIG_PATH=$root$libdir/pkgconfig
LD_LIBRARY_PATH=$root$libdir
export PKG_CONFIG_PATH LD_LIBRARY_PATH

if [ -z "$PKG_CONFIG" ]; then
    tap_skip 'no pkg-config' 'sesqui.pc'
    tap_done 1
fi
tap_run 'sesqui.pc is valid' "$PKG_CONFIG" --validate sesqui
version=$("$PKG_CONFIG" --modversion sesqui)
flags=$("$PKG_CONFIG" --cflags --libs sesqui)
tap_ok $? "pkg-config knows sesqui $version"
[ "$("$PKG_CONFIG" --variable=prefix sesqui)" -ef "$root${libdir%/lib*}" ]
tap_ok $? 'its prefix is that of the moved tree'
PKG_CONFIG_SYSROOT_DIR=$root "$PKG_CONFIG" --cflags --libs sesqui >"$tmp/out" 2>&1
grep -vF "$root$root" "$tmp/out" | grep -qF -e "-I$root"
tap_ok $? 'a sysroot is named once' || sed 's/^/#   /' "$tmp/out"

# Nothing of the source or build tree may be needed from here on.
cp "$srcdir/tests/lint/consumer.c" "$srcdir/tests/lint/consumer.cc" \
    "$tmp/outside"
awk '/^```/ { if (on) exit; on = $0 ~ /^```c$/; next } on' \
    "$srcdir/README.md" >"$tmp/outside/readme.c"
cd "$tmp/outside" || exit 1

# consume LANGUAGE COMPILER FILE: compile, link, run.
consume() {
    tap_run "$3 compiles and links as $1" $2 -std="$1" -Wall -Wextra \
        -Wno-missing-field-initializers -Wpedantic -Werror $CFLAGS \
        -o "$3.out" "$3" $flags -lm || return
    tap_run "$3 as $1 runs" "./$3.out"
    sed 's/^/# /' "$tmp/out"
}

consume c11 "$CC" consumer.c
if [ -n "$CXX" ]; then
    consume c++17 "$CXX" consumer.cc
else
    tap_skip 'no C++ compiler' 'consumer.cc as c++17'
fi
tap_ok "$(($(grep -c '' readme.c) < 10))" \
    "README.md has an example in C: $(grep -c '' readme.c) lines"
[ ! -s readme.c ] || consume c11 "$CC" readme.c

# The blocks of the guide for other build systems, each with README.md's program.
block() {
    awk -v kind="$1" '/^```/ { if (on) exit; on = $0 == "```" kind; next } on' \
        "$srcdir/doc/guide/build-systems.md"
}

# system NAME COMMAND FILE: a folder with the block of NAME as FILE.
system() {
    if ! command -v "$2" >/dev/null; then
        tap_missing "$2" "$2 is not installed" "the guide's block for $1"
        return 1
    fi
    mkdir "$1" && cp readme.c "$1/step.c" && block "$1" >"$1/$3"
}

# CMake's package, in an installed tree that was moved. The block of the guide;
# then a project that finds the package in two folders, with every module that
# is installed as a component; then what is refused.
test_cmake() {
    cp -r "$root" "$tmp/moved"
    at=-DCMAKE_PREFIX_PATH=$tmp/moved${libdir%/lib*}
    tap_run 'CMake finds the moved library' cmake -S cmake -B cmake/b "$at"
    tap_run 'and builds the program of README.md' cmake --build cmake/b
    tap_run 'which runs with no variable set' env -u LD_LIBRARY_PATH \
        ./cmake/b/step
    # As on a system whose /lib is a link to usr/lib.
    mkdir linked && ln -s "$tmp/moved${libdir%/lib*}"/lib* linked
    tap_run 'CMake finds it through a link to its lib' cmake -S cmake \
        -B cmake/b -Usesqui_DIR "-DCMAKE_PREFIX_PATH=$PWD/linked"
    modules=$(cd "$root$libdir/sesqui/0" && ls ./*.so |
        sed 's|^./\(.*\)\.so$|\1|' | tr '\n' ' ')
    mkdir -p twice/sub
    cat >twice/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.12)
project(twice C)
find_package(sesqui 0.1.0 REQUIRED COMPONENTS cpu reference guard $modules)
find_package(sesqui REQUIRED OPTIONAL_COMPONENTS nosuch)
if(sesqui_nosuch_FOUND)
    message(FATAL_ERROR "nosuch exists")
endif()
add_subdirectory(sub)
add_executable(step ../step.c)
target_link_libraries(step PRIVATE sesqui::sesqui m)
END
    cat >twice/sub/CMakeLists.txt <<END
find_package(sesqui 0.1 EXACT QUIET)
foreach(version 0 0.1 0.0...0.9 0.1...<0.2 0.1.0...0.1.0)
    find_package(sesqui \${version} REQUIRED)
endforeach()
add_executable(other ../../step.c)
target_link_libraries(other PRIVATE sesqui::sesqui m)
END
    cp readme.c step.c
    tap_run "a project and its subproject find it, with $modules" \
        cmake -S twice -B twice/b "$at"
    tap_run 'and build' cmake --build twice/b
    tap_run 'the program of the subproject runs' ./twice/b/sub/other
    refused 'find_package(sesqui 0.1 REQUIRED COMPONENTS nosuch)' \
        'no component nosuch'
    refused 'find_package(sesqui 0.2 REQUIRED)' 'version: 0.1.0'
    refused 'find_package(sesqui 0.0.9 REQUIRED)' 'version: 0.1.0'
    rm "$tmp/moved$libdir/libsesqui.so.0"
    refused 'find_package(sesqui 0.1 REQUIRED)' 'libsesqui.so.0 is missing'
}

# refused LINE TEXT: a project with this line is not configured.
refused() {
    rm -rf no
    mkdir no
    printf 'cmake_minimum_required(VERSION 3.12)\nproject(no C)\n%s\n' "$1" \
        >no/CMakeLists.txt
    cmake -S no -B no/b "$at" >"$tmp/out" 2>&1
    [ $? -ne 0 ] && tr -s ' \n' '  ' <"$tmp/out" | grep -qF "$2"
    tap_ok $? "$1 is refused: $2" || sed 's/^/#   /' "$tmp/out"
}

if [ -s readme.c ]; then
    system cmake cmake CMakeLists.txt && test_cmake
    if system meson meson meson.build; then
        tap_run 'Meson finds the library, and builds' sh -c \
            'meson setup meson/b meson && ninja -C meson/b'
        tap_run 'its program runs' ./meson/b/step
    fi
    system make make Makefile &&
        tap_run 'make finds the library, and builds' "$MAKE" -C make step &&
        tap_run 'its program runs' ./make/step
fi

# The examples, in a copy of the installed folder: two of them, or all.
cp -r "$root$docdir/examples" "$tmp/outside/mine"
programs='digits/digits short/keras_guide'
[ -z "${SSQ_TEST_FULL-}" ] || programs=all
tap_run "the installed examples build: $programs" $MAKE -C mine $programs \
    CC="$CC" PKG_CONFIG="$PKG_CONFIG" \
    CFLAGS="-O1 -Wall -Wextra -Werror $CFLAGS"
tap_run 'digits of them trains' env SSQ_SKIP_BACKENDS=opencl,vulkan,cuda \
    ./mine/digits/digits --quiet --epochs 1

if [ -x "$root$bindir/sesqui" ]; then
    tap_run 'the installed sesqui lists its devices' \
        "$root$bindir/sesqui" devices
    readelf -d "$root$bindir/sesqui" | grep -E 'RPATH|RUNPATH' |
        grep -vF "[$libdir" | grep -vF '[$ORIGIN' >"$tmp/out"
    tap_empty 'the installed sesqui has no run path into the build tree'
fi
# What is built, and what is installed in a prefix that was moved, finds its
# modules with no variable set.
for at in "$builddir/sesqui" "$root$bindir/sesqui"; do
    [ -x "$at" ] || continue
    for m in "$builddir"/.libs/opencl.so "$builddir"/.libs/vulkan.so; do
        [ -f "$m" ] || continue
        m=$(basename "$m" .so)
        (unset LD_LIBRARY_PATH SSQ_MODULE_PATH; "$at" devices) >"$tmp/out" 2>&1
        ! grep -q "no module $m.so" "$tmp/out" && grep -q "^$m" "$tmp/out"
        tap_ok $? "${at#"$root"} finds its module $m"
    done
done
(cd "$root" && find . -type f ! -name '*.la' | LC_ALL=C sort) >"$tmp/installed"
for f in ".$libdir/libsesqui.so.0.0.0" ".$libdir/pkgconfig/sesqui.pc"; do
    grep -qxF "$f" "$tmp/installed"
    tap_ok $? "$f is installed"
done
find "$root" -path '*/sesqui/*.la' >"$tmp/out"
tap_empty 'no module has a .la'
if grep -q '^S\["HARDENING_LDFLAGS"\]="-Wl' \
    "$builddir/config.status"; then
    for f in "$root$libdir"/libsesqui.so.0.0.0 "$root$libdir"/sesqui/0/*.so; do
        [ -f "$f" ] || continue
        readelf -dW "$f" | grep -q 'BIND_NOW\|NOW' &&
            readelf -lW "$f" | grep -q GNU_RELRO
        tap_ok $? "$(basename "$f") is bound at start, read-only behind it"
    done
fi
h=$(cd "$srcdir/include" && find . -name '*.h' -o -name '*.hpp' |
    LC_ALL=C sort)
i=$(cd "$root" && find . -path '*/include/*.h' -o -path '*/include/*.hpp' |
    sed 's|.*/include/|./|' | LC_ALL=C sort)
[ "$h" = "$i" ]
tap_ok $? 'every header of include/ is installed'
tap_run 'make uninstall works' $MAKE -C "$builddir" uninstall DESTDIR="$root"
find "$root" -type f >"$tmp/out"
tap_empty 'make uninstall leaves nothing behind'
tap_done 12
