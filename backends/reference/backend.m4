# SPDX-License-Identifier: Apache-2.0
# backend.m4 - reference: readable C that defines correct results; always built.

AC_DEFUN([SSQ_BACKEND_REFERENCE], [
    SSQ_BACKEND_LINKED([reference], [plain C, defines what is correct])
])
