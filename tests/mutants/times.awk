# times.awk - what tests find, beside what they take.
#
# Input: tests/mutants/found.txt, lines "TEST TEST...<TAB>FAULT<TAB>SECONDS s",
# with "# only the first" if a run did not name all tests that fail; then lines
# "SECONDS s  TEST". Each of the latter is printed, with how many faults the
# test finds, and how many no other test finds, if all are named.
NR == FNR {
    first = first || $0 ~ /^# only the first/
    if ($0 ~ /^#/)
        next
    split($0, part, "\t")
    n = split(part[1], test, " ")
    for (i = 1; i <= n; i++) {
        found[test[i]]++
        if (n == 1 && !first)
            alone[test[i]]++
    }
    next
}
{
    name = $3
    f = found[name] + found[name ".sh"] + found[name ".table"]
    a = alone[name] + alone[name ".sh"] + alone[name ".table"]
    if (f > 0)
        $0 = $0 "  finds " f (a > 0 ? ", " a " alone" : "")
    print
}
