# SPDX-License-Identifier: Apache-2.0
"""`python -m sesqui devices` runs the program sesqui."""

from .tool import main

main()
