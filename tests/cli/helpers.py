"""The command line, called as a user calls it, and a table for it."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from bsvdd.cli import main
from bsvdd.comparison import datasets

# few draws say nothing here, and what is said of rows is shown
SHOWN = [
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("default::bsvdd.base.warning.DataWarning"),
]
KINDS = ["--label", "kind", "--minor", "odd"]
COLUMNS = [*KINDS, "--id", "name", "--drop", "city"]


def call(*arguments, code=0, **environment):
    """Return the result of a command that ends with an exit code (None: any)."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], env=environment)
    assert code in (None, result.exit_code), result.output
    return result


def moon():
    """Return a table of name, a, b, city and kind, of which 12 rows are odd."""
    data = datasets.moon(n0=60, n1=12)
    frame = pd.DataFrame(data.X, columns=["a", "b"])
    frame.insert(0, "name", [f"{i:03d}" for i in range(72)])
    frame["city"] = ["Bonn", "Rom", "Oslo"] * 24
    frame["kind"] = np.where(data.minority, "odd", "normal")
    return frame
