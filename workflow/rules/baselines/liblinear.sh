#!/bin/sh
# A guest that calls LIBLINEAR's own program: logistic regression with the penalty PAUC_PARAM_C.
# See docs/guests.md.
set -e  # a step that fails ends the guest
command -v liblinear-train > /dev/null || {
    echo "liblinear-train is not installed (on Debian: apt-get install liblinear-tools)." >&2
    exit 1
}
liblinear-train -q -s 0 -c "${PAUC_PARAM_C:-1}" train.libsvm model
# The weights are read from the model: liblinear-predict rounds probabilities to six digits, which
# makes ties among the rows that matter most.
awk '
    FILENAME == "model" && /^label/ { sign = $2 > 0 ? 1 : -1 }
    FILENAME == "model" && weights { weight[++features] = sign * $1 }
    FILENAME == "model" && /^w$/ { weights = 1 }
    FILENAME == "model" { next }
    FNR == 1 && !(heads++) { print "part,row,score" }
    {
        score = 0
        for (i = 2; i <= NF; i++) { split($i, pair, ":"); score += pair[2] * weight[pair[1]] }
        part = FILENAME; sub(/[.].*/, "", part)
        printf "%s,%d,%.9g\n", part, FNR, score
    }' model valid.libsvm test.libsvm > scores.csv
