"""The picture of each model, P(normal | data) of the same rows on the same axes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from bsvdd.comparison.run.protocol import Protocol, candidates
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.atomic import atomic
from matplotlib.figure import Figure
from PIL import Image

from bsvdd import plots

FOLDER = Path(__file__).parent / "pictures"
SEED = 0
COLOURS = 200  # of the palette: a third of the bytes, and no difference to see


def draw() -> None:
    """Fit each model of the registry to the half moon and write its picture."""
    matplotlib.use("agg")
    FOLDER.mkdir(exist_ok=True)
    data = datasets.moon(seed=SEED)
    for candidate in candidates():
        est = Protocol().estimator(candidate, SEED).fit(data.X, data.minority.astype(int))
        figure = plots.plot_boundary({candidate.name: est}, data.X, data.minority)
        save(figure, FOLDER / f"{type(est).__name__}.png")
        plt.close(figure)


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` with a palette."""
    stream = BytesIO()
    figure.savefig(stream, dpi=110, metadata={"Software": None})
    image = (
        Image.open(stream).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=0)
    )
    with atomic(path) as temporary:
        image.save(temporary, format="PNG", optimize=True)
