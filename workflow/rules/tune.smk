rule tune:
    input:
        lambda wildcards: f"{RESULTS}/data/{SUITE.base_dataset(wildcards.dataset)}/meta.json",
    output:
        chosen=f"{RESULTS}/tuned/{{experiment}}/{{dataset}}/{{method}}.json",
        trials=f"{RESULTS}/tuned/{{experiment}}/{{dataset}}/{{method}}.trials.json",
    log:
        f"{RESULTS}/logs/tune/{{experiment}}/{{dataset}}/{{method}}.log",
    conda:
        ENV
    threads: lambda wildcards: SUITE.experiments[wildcards.experiment].tune_cores
    params:
        cell=lambda wildcards: plain(
            cells.trial_of(
                SUITE,
                SUITE.experiments[wildcards.experiment],
                wildcards.dataset,
                wildcards.method,
            )
        ),
        digest=lambda wildcards: digest(SUITE.methods[wildcards.method]["use"]),
    script:
        "../scripts/tune.py"
