rule tune:
    input:
        lambda wildcards: f"{RESULTS}/data/{SUITE.base_dataset(wildcards.dataset)}/meta.json",
    output:
        chosen=f"{RESULTS}/tuned/{{experiment}}/{{dataset}}/{{method}}.json",
        trials=f"{RESULTS}/tuned/{{experiment}}/{{dataset}}/{{method}}.trials.json",
    log:
        f"{RESULTS}/logs/tune/{{experiment}}/{{dataset}}/{{method}}.log",
    priority: 2  # the fits wait for it
    conda:
        ENV
    threads: lambda wildcards: SUITE.experiments[wildcards.experiment].tune_cores
    resources:
        runtime=tune_minutes,
        mem_mb=lambda wildcards, threads: (
            threads
            * SUITE.methods[wildcards.method].get("resources", {}).get("mem_mb", 4000)
        ),
    params:
        spec=lambda wildcards: packed(trial(wildcards)),
        decides=lambda wildcards: trial(wildcards).decides(),
        seeds=lambda wildcards: SUITE.tuning_seeds(
            SUITE.experiments[wildcards.experiment], wildcards.dataset
        ),
        digest=lambda wildcards: code_of(trial(wildcards)),
    script:
        "../scripts/tune.py"
