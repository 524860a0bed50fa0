COLLECTED = f"{RESULTS}/collected"
TEMPLATE = [
    str(p)
    for p in sorted((ROOT / "pauc_core/report").glob("page.*"))
    if p.suffix != ".py"
]
FRAMES = ["summaries", "traces", "roc", "trials", "datasets"]


rule tabulate:
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
        reference="reference/tables.csv",
        reports="config/reports.yaml",
    output:
        frames=expand(f"{COLLECTED}/{{name}}.parquet", name=FRAMES),
        meta=f"{COLLECTED}/meta.json",
        tables=report(
            directory(f"{RESULTS}/tables"),
            patterns=["{name}.md"],
            caption="../report/table.rst",
            category="Tables",
        ),
    log:
        f"{RESULTS}/logs/tabulate.log",
    conda:
        ENV
    params:
        scale=SUITE.scale,
        settings=SETTINGS,
        root=str(ROOT),
        digest=lambda wildcards: digest("pauc_core.report.tables"),
        collecting=lambda wildcards: digest("pauc_core.suite.collect"),
    script:
        "../scripts/tabulate.py"


rule draw:
    input:
        meta=f"{COLLECTED}/meta.json",
        reference="reference/tables.csv",
        reports="config/reports.yaml",
    output:
        report(
            directory(f"{RESULTS}/figures"),
            patterns=["{name}.png"],
            caption="../report/figure.rst",
            category="Figures",
        ),
    log:
        f"{RESULTS}/logs/draw.log",
    conda:
        ENV
    params:
        digest=lambda wildcards: digest("pauc_core.report.figures"),
    script:
        "../scripts/draw.py"


rule compare:
    input:
        meta=f"{COLLECTED}/meta.json",
        reference="reference/tables.csv",
        claims="reference/claims.yaml",
        reports="config/reports.yaml",
    output:
        comparison=report(
            f"{RESULTS}/comparison.csv",
            caption="../report/comparison.rst",
            category="Paper against measured",
        ),
        claims=report(
            f"{RESULTS}/claims.csv",
            caption="../report/claims.rst",
            category="Paper against measured",
        ),
        ranks=f"{RESULTS}/ranks.csv",
    log:
        f"{RESULTS}/logs/compare.log",
    conda:
        ENV
    params:
        digest=lambda wildcards: digest("pauc_core.report.claims"),
        comparing=lambda wildcards: digest("pauc_core.report.compare"),
    script:
        "../scripts/compare.py"


rule report:
    input:
        meta=f"{COLLECTED}/meta.json",
        tables=f"{RESULTS}/tables",
        figures=f"{RESULTS}/figures",
        comparison=f"{RESULTS}/comparison.csv",
        claims=f"{RESULTS}/claims.csv",
        ranks=f"{RESULTS}/ranks.csv",
        reports="config/reports.yaml",
        template=TEMPLATE,
    output:
        report(
            f"{RESULTS}/report/index.html",
            caption="../report/page.rst",
            category="Report",
        ),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        ENV
    params:
        digest=lambda wildcards: digest("pauc_core.report.page"),
    script:
        "../scripts/report.py"


rule tables:
    input:
        f"{RESULTS}/tables",
        f"{RESULTS}/comparison.csv",
        f"{RESULTS}/claims.csv",


rule figures:
    input:
        f"{RESULTS}/figures",
