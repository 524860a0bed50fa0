# One rule a line of config/methods.yaml, be it a class or a guest's program.
for name, line in SUITE.methods.items():

    rule:
        name:
            f"fit_{name}"
        input:
            data=lambda wildcards: f"{RESULTS}/data/{SUITE.base_dataset(wildcards.dataset)}/meta.json",
            tuned=lambda wildcards, name=name: tuned_input(wildcards, name),
        output:
            multiext(
                f"{RESULTS}/runs/{{experiment}}/{{dataset}}/{name}/seeds-{{first}}-{{last}}/",
                "summary.jsonl",
                "traces.csv",
                "scores.csv.gz",
            ),
        log:
            f"{RESULTS}/logs/fit/{{experiment}}/{{dataset}}/{name}/seeds-{{first}}-{{last}}.log",
        # What the paper compares comes first, controls fill the gaps.
        priority: 0 if line.get("control") else 1
        conda:
            ENV
        threads: lambda wildcards: SUITE.experiments[wildcards.experiment].threads
        resources:
            **line.get("resources", {}),
            runtime=fit_minutes,
        params:
            spec=lambda wildcards, name=name: packed(specification(wildcards, name)),
            decides=lambda wildcards, name=name: specification(
                wildcards, name
            ).decides(),
            seeds=lambda wildcards: SUITE.experiments[
                wildcards.experiment
            ].seeds_between(int(wildcards.first), int(wildcards.last)),
            digest=lambda wildcards, name=name: code_of(specification(wildcards, name)),
        script:
            "../scripts/fit.py"


rule linear:
    input:
        of_track("linear"),


rule sorr:
    input:
        of_track("sorr"),


rule deep:
    input:
        of_track("deep"),
