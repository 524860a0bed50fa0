#!/usr/bin/awk -f
# A guest in awk: the difference of the two classes' means as weights. See docs/guests.md.
BEGIN {
    while ((more = getline line < "train.libsvm") > 0) {
        fields = split(line, field, " ")
        positive = field[1] > 0
        count[positive]++
        for (i = 2; i <= fields; i++) {
            split(field[i], pair, ":")
            names[pair[1]]
            sum[positive, pair[1]] += pair[2]
        }
    }
    if (more < 0) { print "train.libsvm cannot be read." > "/dev/stderr"; exit 1 }
    for (name in names) weight[name] = sum[1, name] / count[1] - sum[0, name] / count[0]
    print "part,row,score" > "scores.csv"
    score_part("valid")
    score_part("test")
}

function score_part(part,    row, line, fields, field, pair, score, i) {
    while ((getline line < (part ".libsvm")) > 0) {
        fields = split(line, field, " ")
        score = 0
        for (i = 2; i <= fields; i++) {
            split(field[i], pair, ":")
            score += pair[2] * weight[pair[1]]
        }
        printf "%s,%d,%.9g\n", part, ++row, score > "scores.csv"
    }
}
