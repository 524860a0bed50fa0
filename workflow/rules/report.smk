COLLECTED = f"{RESULTS}/collected"
TEMPLATE = [
    str(p)
    for p in sorted((ROOT / "pauc_core/report").iterdir())
    if p.suffix in (".j2", ".js", ".css")
]
# None before they are set: see pauc_core/suite/targets.py.
TARGETS = [str(p) for p in sorted((ROOT / "config/targets").glob(f"{SUITE.scale}.csv"))]


rule collect:
    input:
        summaries=[
            p for e in SUITE.experiments.values() for p in fitted(e, "summary.jsonl")
        ],
        traces=[p for e in SUITE.experiments.values() for p in fitted(e, "traces.csv")],
        scores=[
            p for e in SUITE.experiments.values() for p in fitted(e, "scores.csv.gz")
        ],
        trials=sorted({p for e in SUITE.experiments.values() for p in tuned_files(e)}),
        datasets=rules.data.input,
    output:
        frames=expand(f"{COLLECTED}/{{name}}.parquet", name=columns.FRAMES),
        meta=f"{COLLECTED}/meta.json",
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        ENV
    params:
        scale=SUITE.scale,
        settings={**SETTINGS, "subset": SUITE.subset},
        root=str(ROOT),
        leagues=SUITE.leagues(),
        digest=lambda wildcards: digest("pauc_core.suite.collect"),
    script:
        "../scripts/collect.py"


rule report:
    input:
        frames=rules.collect.output.frames,
        meta=rules.collect.output.meta,
        reference="reference/tables.csv",
        claims="reference/claims.yaml",
        reports="config/reports.yaml",
        methods="config/methods.yaml",
        targets=TARGETS,
        template=TEMPLATE,
    # What stood before is removed by no attempt that fails: see update() in Snakemake.
    output:
        tables=update(
            report(
                directory(f"{RESULTS}/tables"),
                patterns=["{name}.md"],
                caption="../report/table.rst",
                category="Tables",
            )
        ),
        figures=update(
            report(
                directory(f"{RESULTS}/figures"),
                patterns=["{name}.png"],
                caption="../report/figure.rst",
                category="Figures",
            )
        ),
        comparison=update(
            report(
                f"{RESULTS}/comparison.csv",
                caption="../report/comparison.rst",
                category="Paper against measured",
            )
        ),
        claims=update(
            report(
                f"{RESULTS}/claims.csv",
                caption="../report/claims.rst",
                category="Paper against measured",
            )
        ),
        ranks=update(f"{RESULTS}/ranks.csv"),
        page=update(
            report(
                f"{RESULTS}/report/index.html",
                caption="../report/page.rst",
                category="Report",
            )
        ),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        ENV
    params:
        digest=lambda wildcards: digest("pauc_core.report.report"),
    script:
        "../scripts/report.py"


rule tables:
    input:
        rules.report.output.tables,
        rules.report.output.comparison,
        rules.report.output.claims,


rule figures:
    input:
        rules.report.output.figures,
