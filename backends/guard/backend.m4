# SPDX-License-Identifier: Apache-2.0
# backend.m4 - guard: the reference, emulating a GPU; always built.

AC_DEFUN([SSQ_BACKEND_GUARD], [
    SSQ_BACKEND_LINKED([guard], [plain C, emulating a GPU: finds errors of a program])
])
