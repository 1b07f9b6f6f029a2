# SPDX-License-Identifier: Apache-2.0
# count.awk - TAP on standard input: the lines of failed cases with their
# diagnostics, then "N passed, N failed, N skipped". A program that ends before
# its plan has failed.
/^not ok / { failed++; show = 1; print; next }
/^ok / { if (/# SKIP/) skipped++; else passed++ }
/^1\.\.[1-9]/ { planned = 1 }
/^#/ && show { print }
!/^#/ { show = 0 }
{ last = $0 }
END {
    if (!planned) { failed++; print "not ok - it did not end: " last }
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
}
