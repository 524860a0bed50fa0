from pauc_core.data.contents import editable_content


localrules:
    fetch,  # the nodes of a cluster seldom have a network


rule fetch:
    output:
        touch(f"{RAW}/.fetched/{{stored}}"),
    log:
        f"{RESULTS}/logs/fetch/{{stored}}.log",
    conda:
        ENV
    params:
        entry=lambda wildcards: SUITE.entry(wildcards.stored),
        raw=lambda wildcards, output: str(Path(output[0]).parents[1]),
        # Snakemake compares values: a file that was edited makes fetch, and what follows, run.
        digest=lambda wildcards: (
            digest("pauc_core.data.generate")
            if "generate" in SUITE.entry(wildcards.stored)
            else editable_content(SUITE.entry(wildcards.stored), Path(RAW))
        ),
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
        raw=lambda wildcards, input: str(Path(input[0]).parents[1]),
        subset=SUITE.subset,
        digest=lambda wildcards: digest("pauc_core.data.prepare"),
    script:
        "../scripts/prepare.py"


rule extract_features:
    input:
        source=lambda wildcards: f"{RESULTS}/data/{SUITE.entry(wildcards.stored)['of']}/meta.json",
        weights=lambda wildcards: [
            f"{RAW}/.fetched/{name}"
            for name in [SUITE.entry(wildcards.stored).get("weights")]
            if name
        ],
    output:
        multiext(
            f"{RESULTS}/data/{{stored}}/", "meta.json", "x.npy", "y.npy", "part.npy"
        ),
    log:
        f"{RESULTS}/logs/extract_features/{{stored}}.log",
    wildcard_constraints:
        stored="|".join(EXTRACTED) or "none",
    priority: 3  # most of the linear track waits for it
    conda:
        ENV
    threads: SUITE.features.get("threads", 1)
    params:
        entry=lambda wildcards: SUITE.entry(wildcards.stored),
        settings=lambda wildcards: {
            **SUITE.features,
            **SUITE.entry(wildcards.stored).get("settings", {}),
        },
        weights=lambda wildcards: (
            SUITE.entry(SUITE.entry(wildcards.stored)["weights"])
            if "weights" in SUITE.entry(wildcards.stored)
            else None
        ),
        raw=RAW,
        device=SETTINGS.get("device"),
        digest=lambda wildcards: digest("pauc_core.data.features"),
    script:
        "../scripts/extract_features.py"


rule data:
    input:
        expand(f"{RESULTS}/data/{{stored}}/meta.json", stored=SUITE.stored_datasets()),
