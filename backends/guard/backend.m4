# SPDX-License-Identifier: Apache-2.0
# backend.m4 - guard: the reference with a GPU's manners; always built.

AC_DEFUN([SSQ_BACKEND_GUARD], [
    SSQ_BACKEND_LINKED([guard], [reference arithmetic, the manners of a GPU])
])
