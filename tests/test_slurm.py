"""The same workflow on a cluster: Slurm on this machine, two nodes, the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pauc_core.suite.lifetime import identity
from tests import slurm_here
from tests.digests import differences, result_digests
from tests.projects import tiny_project
from tests.slurm_here import NODES, NoCluster, cluster, job_count, job_nodes, plugin, provide
from tests.test_workflow import ROOT, snakemake

METHODS = ["agd_sbcd", "exact_lbfgs", "logistic_regression", "random_scores"]
# prepare, tune (AGD-SBCD, logistic regression), collect, report; fetch stays where the network is
JOBS = 5 + len(METHODS)
COMMAND = [
    *(sys.executable, "-m", "pauc_core.suite.launch", "tables"),
    *("--workflow-profile", "profiles/slurm", "--jobs", "4"),
    # No accounting here, and no reason to wait: neither is the profile's business.
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"),
]


@dataclass(frozen=True)
class Found:
    """What a run on the cluster showed beside the run on this machine."""

    jobs: int
    nodes: set[str]
    files: int
    different: list[str]
    seconds_local: float
    seconds_cluster: float


def on_the_cluster(folder: Path) -> Found:
    """Run the small workflow here and on an emulated cluster."""
    provide()
    project = tiny_project(folder / "project", METHODS, tune=True)
    started = time.monotonic()
    done = snakemake(project, "tables", launch=True)
    seconds_local = time.monotonic() - started
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    (project / "results/default").rename(project / "here")
    extra = plugin(folder / "plugin")
    with cluster(folder / "cluster"):
        started = time.monotonic()
        done = subprocess.run(
            COMMAND,
            cwd=project,
            env={**os.environ, "PYTHONPATH": f"{project}:{extra}", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        seconds_cluster = time.monotonic() - started
        jobs, nodes = job_count(), job_nodes()
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    there = project / "results/default"
    return Found(
        jobs=jobs,
        nodes=nodes,
        files=len(result_digests(there)),
        different=differences(project / "here", there),
        seconds_local=seconds_local,
        seconds_cluster=seconds_cluster,
    )


@pytest.mark.slow
def test_the_workflow_runs_unchanged_on_slurm(tmp_path, capsys):
    try:
        with capsys.disabled():  # what is installed on this machine is said before
            found = on_the_cluster(tmp_path)
    except NoCluster as why:
        pytest.skip(str(why))
    with capsys.disabled():
        print(f"  {found.jobs} jobs on {len(found.nodes)} nodes, {found.files} files compared")
    assert found.nodes == set(NODES)
    assert found.jobs == JOBS
    assert found.files >= 3 * len(METHODS) + 3
    assert found.different == []


def test_the_remains_of_an_interrupted_test_are_recognised(tmp_path, monkeypatch, capfd):
    """A stand-in for the configuration and for a daemon: nothing of this machine is touched."""
    conf, record = tmp_path / "slurm.conf", tmp_path / "daemons"
    monkeypatch.setattr(slurm_here, "CONF", conf)
    slurm_here.remains()
    daemon = subprocess.Popen(["sleep", "300"])
    stranger = subprocess.Popen(["sleep", "300"])
    try:
        # The second is a number that was given to another process since.
        record.write_text(f"{identity(daemon.pid)}\n{stranger.pid}-1\n")
        conf.write_text(f"{slurm_here.MARK}999999999-1 {record}\nClusterName=here\n")
        slurm_here.remains()
        assert daemon.wait(timeout=10) != 0
        assert stranger.poll() is None
    finally:
        daemon.kill()
        stranger.kill()
        stranger.wait()
    assert not conf.exists()
    assert "Clearing away the emulated cluster of an interrupted test" in capfd.readouterr().err
    conf.write_text(f"{slurm_here.MARK}{identity(os.getpid())} {record}\n")
    with pytest.raises(NoCluster, match="Another test has an emulated cluster here"):
        slurm_here.remains()
    conf.write_text("ClusterName=theirs\n")
    with pytest.raises(NoCluster, match="belongs to a cluster, which is left alone"):
        slurm_here.remains()
    assert conf.exists()


def test_the_profile_repeats_only_what_the_machine_failed():
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    here = yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text())
    assert profile["executor"] == "slurm"
    assert profile["retries"] == 0
    assert profile["slurm-requeue"] is True
    for key in ("rerun-triggers", "rerun-incomplete", "keep-going"):
        assert profile[key] == here[key], key
