# SPDX-License-Identifier: Apache-2.0
# circles.awk - which objects need each other, directly or not.
#
# Input: lines "OBJECT SYMBOL TYPE" as nm -P says them, for all objects of one
# library. Output: a line "circle OBJECT OBJECT..." for each set of objects of
# which each needs all others, and below it the symbols that tie it: "  A needs
# x y of B".

$3 == "w" || $3 == "v" { # may be absent: nobody's need
    next
}
$3 == "U" {
    wanted[$1, $2]
    object[$1]
    next
}
{
    home[$2] = $1
    object[$1]
}

# All that object from needs, directly or not, into reach[from, ..].
function follow(from,    queue, head, tail, here, i) {
    queue[tail++] = from
    while (head < tail) {
        here = queue[head++]
        for (i = 1; i <= needs[here]; i++)
            if (!((from, need[here, i]) in reach)) {
                reach[from, need[here, i]]
                queue[tail++] = need[here, i]
            }
    }
}

# words, a list with blanks, in order.
function sorted(words,    word, n, i, j, w, text) {
    n = split(words, word, " ")
    for (i = 2; i <= n; i++) {
        w = word[i]
        for (j = i - 1; j > 0 && word[j] > w; j--)
            word[j + 1] = word[j]
        word[j + 1] = w
    }
    for (i = 1; i <= n; i++)
        text = text " " word[i]
    return text
}

function show(members,    member, n, i, j) {
    n = split(members, member, " ")
    print "circle" members
    for (i = 1; i <= n; i++)
        for (j = 1; j <= n; j++)
            if ((member[i], member[j]) in ties)
                print "  " member[i] " needs" \
                    sorted(ties[member[i], member[j]]) " of " member[j]
}

END {
    for (pair in wanted) {
        split(pair, part, SUBSEP)
        a = part[1]
        if (!(part[2] in home) || home[part[2]] == a)
            continue
        b = home[part[2]]
        if (!((a, b) in ties))
            need[a, ++needs[a]] = b
        ties[a, b] = ties[a, b] " " part[2]
    }
    for (a in object)
        follow(a)
    for (a in object) {
        if (a in shown || !((a, a) in reach))
            continue
        members = ""
        for (b in object)
            if ((a, b) in reach && (b, a) in reach) {
                members = members " " b
                shown[b]
            }
        show(sorted(members))
    }
}
