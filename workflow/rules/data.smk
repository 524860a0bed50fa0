rule fetch:
    output:
        touch(f"{RAW}/.fetched/{{stored}}"),
    log:
        f"{RESULTS}/logs/fetch/{{stored}}.log",
    conda:
        ENV
    params:
        entry=lambda wildcards: SUITE.entry(wildcards.stored),
        raw=RAW,
        mirror=SETTINGS.get("mirror"),
    script:
        "../scripts/fetch.py"


rule prepare:
    input:
        f"{RAW}/.fetched/{{stored}}",
    output:
        multiext(
            f"{RESULTS}/data/{{stored}}/", "meta.json", "x.npy", "y.npy", "part.npy"
        ),
    log:
        f"{RESULTS}/logs/prepare/{{stored}}.log",
    wildcard_constraints:
        stored="(?!(" + "|".join(EXTRACTED) + ")/)[A-Za-z0-9][\\w.-]*",
    conda:
        ENV
    params:
        entry=lambda wildcards: SUITE.entry(wildcards.stored),
        raw=RAW,
        subset=SETTINGS.get("subset"),
        digest=digest("pauc_core.data.prepare"),
    script:
        "../scripts/prepare.py"


rule extract_features:
    input:
        lambda wildcards: f"{RESULTS}/data/{SUITE.entry(wildcards.stored)['of']}/meta.json",
    output:
        multiext(
            f"{RESULTS}/data/{{stored}}/", "meta.json", "x.npy", "y.npy", "part.npy"
        ),
    log:
        f"{RESULTS}/logs/extract_features/{{stored}}.log",
    wildcard_constraints:
        stored="|".join(EXTRACTED) or "none",
    conda:
        ENV
    threads: SUITE.features.get("threads", 1)
    params:
        entry=lambda wildcards: SUITE.entry(wildcards.stored),
        settings=SUITE.features,
        device=SETTINGS.get("device"),
        digest=digest("pauc_core.data.features"),
    script:
        "../scripts/extract_features.py"


rule data:
    input:
        expand(f"{RESULTS}/data/{{stored}}/meta.json", stored=SUITE.stored_datasets()),
