# SPDX-License-Identifier: Apache-2.0
# torch.m4 - libtorch, for examples/torch-interop alone.

# --with-torch=DIR: libtorch as it is unpacked, or the folder torch/ of
# PyTorch's wheel; with CUDA. Nothing is looked for where it is not given.
AC_DEFUN([SSQ_FIND_TORCH], [
    AC_ARG_WITH([torch],
        [AS_HELP_STRING([--with-torch=DIR],
            [build examples/torch-interop with libtorch @<:@no@:>@])],
        [], [with_torch=no])
    TORCH_CXXFLAGS= TORCH_LIBS=
    AS_CASE([$with_torch], [no], [], [/*], [SSQ_TRY_TORCH],
        [AC_MSG_ERROR([--with-torch=$with_torch: the path of a folder, or no])])
    AC_SUBST([TORCH_CXXFLAGS])
    AC_SUBST([TORCH_LIBS])
    AM_CONDITIONAL([HAVE_TORCH], [test "$with_torch" != no])
])

# A libtorch is of one of two ABIs of std::string, which a symbol tells.
AC_DEFUN([SSQ_TRY_TORCH], [
    AS_IF([test ! -f "$with_torch/include/c10/cuda/CUDAStream.h" ||
        test ! -f "$with_torch/lib/libc10_cuda.so"],
        [AC_MSG_ERROR(
            [--with-torch=$with_torch: no libtorch with CUDA is there])])
    AS_IF([test ! -f "$CUDA_DIR/include/cuda_runtime_api.h"],
        [AC_MSG_ERROR([--with-torch: its headers need those of a toolkit:
            --with-cuda=DIR, with include/cuda_runtime_api.h])])
    AC_MSG_CHECKING([for the ABI of libtorch])
    ssq_cxx11=0
    AS_IF([grep -q '_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112b' \
        "$with_torch/lib/libc10.so"], [ssq_cxx11=1])
    AC_MSG_RESULT([_GLIBCXX_USE_CXX11_ABI=$ssq_cxx11])
    TORCH_CXXFLAGS="-D_GLIBCXX_USE_CXX11_ABI=$ssq_cxx11"
    for ssq_dir in "$with_torch/include" "$CUDA_DIR/include" \
        "$with_torch/include/torch/csrc/api/include"; do
        TORCH_CXXFLAGS="$TORCH_CXXFLAGS -isystem $ssq_dir"
    done
    TORCH_LIBS="-L$with_torch/lib -Wl,-rpath,$with_torch/lib -ltorch_cpu"
    TORCH_LIBS="$TORCH_LIBS -Wl,--no-as-needed -ltorch -ltorch_cuda"
    TORCH_LIBS="$TORCH_LIBS -Wl,--as-needed -lc10_cuda -lc10"
])
