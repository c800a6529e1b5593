"""What fits answer, as bands over five seeds.

``python -m tests.goldens`` writes them anew, and ``python -m tests.goldens --check``
holds one seed of each cell against them; a further word is a part of the names of
cells. A cell is one table under one description. Each band holds what five seeds gave;
a later answer passes if it lies within the band and a small margin (``failures``). A
cell that lies outside on purpose stands in the file under ``changed``, with the reason;
under ``cut again`` stand those whose bands were written anew for it.
"""

import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import bsvdd
from bsvdd.comparison.datasets import embedded, names

FILE = Path(__file__).with_name("goldens.json")
SEEDS = range(5)
MODELS = ("SVDD", "SVDDM", "BDD", "BDDM", "BSVDD", "BSVDDM")
SHOWN = 50  # rows whose P(normal) is kept
FEW = {"AUC": 0.003, "rate": 0.02}  # beside the range over the seeds
EXACT = 1e-4  # relative: lambda, bandwidth


def tables():
    """Return by name: training rows, labels, test rows, and which are abnormal."""
    found = {}
    for name in names():
        data = embedded(name)
        found[name] = halves(data.X, data.minority)
    rng = np.random.default_rng(1)
    X, y = blobs(rng, 300, 40)
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan
    found["gaps"] = halves(gaps, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    kind = np.where(rng.random(len(X)) < 0.7, "usual", "rare")
    frame["kind"] = np.where(y & (rng.random(len(X)) < 0.5), "other", kind)
    frame["level"] = np.digitize(X[:, 0], [-1.0, 0.0, 1.0]).astype(str)
    found["categories"] = halves(frame, y)
    for n in (3_000, 12_000):
        found[f"rows_{n}"] = halves(*blobs(np.random.default_rng(n), 2 * n, 200))
    return found


def blobs(rng, n, odd):
    """Return rows of two correlated normal clusters, and rows between and beside."""
    L = np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0], [0, 0.3, 0.9, 0], [0.2, 0, 0, 1.0]])
    normal = (
        rng.normal(size=(n, 4)) @ L.T + np.where(rng.random(n) < 0.3, 5.0, 0.0)[:, None]
    )
    other = rng.normal(size=(odd, 4)) * 1.5 + rng.choice(
        [-3.0, 2.5, 8.0], size=(odd, 1)
    )
    return np.concatenate([normal, other]), np.arange(n + odd) >= n


def halves(X, y):
    """Return a half of each class to train on, and the other half."""
    y = np.asarray(y, dtype=bool)
    rng, train = np.random.default_rng(0), np.zeros(len(y), dtype=bool)
    for of_class in (~y, y):
        members = rng.permutation(np.flatnonzero(of_class))
        train[members[: len(members) // 2]] = True
    test = rng.permutation(np.flatnonzero(~train))
    part = X.iloc if isinstance(X, pd.DataFrame) else X
    return part[np.flatnonzero(train)], y[train].astype(int), part[test], y[test]


def described(model, table, seed):
    """Return what a default fit answers; one-class models get no minority rows."""
    X, y, Z, odd = table
    seeded = {} if model.startswith("SVDD") else {"random_state": seed}
    est = getattr(bsvdd, model)(**seeded)
    est = est.fit(X, y) if model.endswith("M") else est.fit(X[y == 0])
    found = est.decision(Z)
    P, surprise = found["probability_normal"].to_numpy(), found["surprise"].to_numpy()
    kernel = getattr(est.kernel_, "kernel", est.kernel_)
    return {
        "AUC": float(roc_auc_score(odd, surprise)),
        "rate": float((~found["normal"].to_numpy(bool))[~odd].mean()),
        "P": [round(float(p), 4) for p in P[:SHOWN]],
        "lambda": float(getattr(est, "likelihood_scale_", np.nan)),
        "bandwidth": float(kernel.bandwidth),
    }


def one_tables():
    """Return tables with odd rows among the others."""
    found = {}
    for place, (n, odd) in enumerate([(200, 16), (400, 32), (400, 0), (1_000, 20)]):
        X, _ = blobs(np.random.default_rng(10 + place), n - odd, odd)
        found[f"blobs_{n}_{odd}"] = X
    rng = np.random.default_rng(20)
    X = rng.normal(size=(300, 3))
    X[:15] = [4.0, -4.0, 4.0] + 0.2 * X[:15]
    found["clump"] = X
    found["skewed"] = np.exp(rng.normal(size=(300, 4)))
    wild = rng.normal(size=(400, 5))
    wild[:5] += 7.0 * np.eye(5)
    wild[10, 0] = 1_000.0
    found["wild"] = wild
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    frame["flag"] = (rng.random(400) < 0.1).astype(int)
    frame["kind"] = rng.choice(["x", "y", "z"], size=400, p=[0.6, 0.3, 0.1])
    frame.loc[:7, "a"] = 6.0 + 0.3 * frame.loc[:7, "b"]
    found["mixed"] = frame
    return found


def stood_out(X, seed):
    """Return what stands out in one table, as ``bsvdd outliers`` finds it."""
    found = bsvdd.stand_out(bsvdd.BSVDD(random_state=seed), X)
    return {
        "surprise": [float(f"{t:.4g}") for t in found.surprise],
        "listed": np.flatnonzero(found.listed).tolist(),
        "L": int(found.at_least),
    }


def cells():
    """Return what answers for a seed, by the name of the cell."""
    found = {}
    for name, table in tables().items():
        for model in MODELS:
            if not (name.startswith("rows_12") and model in ("SVDD", "SVDDM", "BDDM")):
                found[f"{name}/{model}"] = partial(described, model, table)
    return found | {
        f"{name}/one table": partial(stood_out, X) for name, X in one_tables().items()
    }


def answered(answer, seeds=SEEDS):
    """Return the answers of a cell for some seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [answer(seed) for seed in seeds]


def bands(answers):
    """Return each answer's mean and range over seeds, and how far seeds differ."""
    first, found = answers[0], {}
    for key, value in first.items():
        each = [a[key] for a in answers]
        if key in ("P", "surprise"):
            values = np.array(each)
            mean = values.mean(axis=0)
            apart = np.abs(values[1:] - values[:-1]).mean() if len(each) > 1 else 0.0
            found[key] = {
                "mean": [float(f"{v:.4g}") for v in mean],
                "apart": float(apart),
            }
        elif key == "listed":
            rows, counts = np.unique(
                np.concatenate(each).astype(int), return_counts=True
            )
            always = counts == len(each)
            found[key] = {
                "always": rows[always].tolist(),
                "some": rows[~always].tolist(),
            }
        else:
            mean = None if np.isnan(value) else float(np.mean(each))
            found[key] = {
                "mean": mean,
                "range": float(np.ptp(each)) if mean is not None else 0.0,
            }
    return found


def failures(band, answer):
    """Return in what an answer lies outside its band; empty if it passes."""
    found = []
    for key, value in answer.items():
        of = band[key]
        if key in ("P", "surprise"):
            if key == "surprise":  # its scale: beyond 5 a row is odd anyway
                value, mean = np.minimum(value, 5.0), np.minimum(of["mean"], 5.0)
            else:
                mean = np.array(of["mean"])
            gap, most = np.abs(np.array(value) - mean).mean(), 1.5 * of["apart"] + 0.005
            if key == "surprise":
                most = 1.5 * of["apart"] + 0.02
            if not gap <= most:
                found.append(f"{key}: mean difference {gap:.4f} > {most:.4f}")
        elif key == "listed":
            lacks = sorted(set(of["always"]) - set(value))
            more = sorted(set(value) - set(of["always"]) - set(of["some"]))
            if len(lacks) > 1 or len(more) > 1:
                found.append(f"listed: lacks {lacks}, has {more} too")
        elif of["mean"] is not None:
            if key in FEW:
                most = FEW[key] + of["range"]
            elif key == "L":
                most = 2 + of["range"] + 0.05 * of["mean"]
            else:
                most = EXACT * abs(of["mean"]) + of["range"]
            if not abs(value - of["mean"]) <= most:
                found.append(f"{key}: {value:.5g}, band {of['mean']:.5g} +- {most:.2g}")
    return found


def check(only):
    """Print where seed 0 lies outside of the bands, and how AUC and rates moved."""
    known, moved = json.loads(FILE.read_text())["cells"], []
    for cell, answer in cells().items():
        if only not in cell:
            continue
        (found,) = answered(answer, [0])
        for line in failures(known[cell], found):
            print(f"{cell}: {line}", flush=True)
        if "AUC" in found:
            of = known[cell]
            moved.append([found[key] - of[key]["mean"] for key in ("AUC", "rate")])
    if moved:
        auc, rate = np.array(moved).T
        print(
            f"{len(auc)} cells: AUC moved by {auc.mean():+.4f} ({auc.min():+.4f} to "
            f"{auc.max():+.4f}), rates by {rate.mean():+.4f} ({rate.min():+.4f} to "
            f"{rate.max():+.4f})"
        )


def main():
    """Write the bands of today's answers, or hold today's answers against them."""
    words = [word for word in sys.argv[1:] if word != "--check"]
    only = words[0] if words else ""
    if "--check" in sys.argv:
        check(only)
        return
    known = (
        json.loads(FILE.read_text())
        if FILE.exists()
        else {"changed": {}, "cut again": {}, "cells": {}}
    )
    for cell, answer in cells().items():
        if only in cell:
            known["cells"][cell] = bands(answered(answer))
            print(cell, file=sys.stderr, flush=True)
    text = json.dumps(known, indent=None, separators=(",", ":"))
    FILE.write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
