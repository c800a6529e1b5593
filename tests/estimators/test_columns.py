"""What a column is, by every way in: CSV, data frame and Parquet have one answer or one error."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.warning import DataWarning
from click.testing import CliRunner

import bsvdd
from bsvdd import SVDD
from bsvdd.cli import main

pytestmark = [
    pytest.mark.filterwarnings("default:column 'x' has dates"),
    pytest.mark.filterwarnings("default:1 of 40 rows have gaps"),
]
N = 40
RNG = np.random.default_rng(3)
BASE = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
MONEY = np.round(np.exp(RNG.normal(7.0, 1.0, N)), 2)
DAYS = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(N)]
FROM_NEW_YEAR = [(pd.Timestamp(day) - pd.Timestamp("2024-01-01")).days for day in DAYS]
CATEGORY = "category"

READ = {
    "plain": ([f"{v}" for v in MONEY], MONEY),
    "percent": ([f"{v} %" for v in MONEY], MONEY),
    "currency before": ([f"€ {v}" for v in MONEY], MONEY),
    "currency after": ([f"{v} USD" for v in MONEY], MONEY),
    "currency and thousands": ([f"${v:,.2f}" for v in MONEY], MONEY),
    "thousands": ([f"{v:,.0f}" for v in MONEY], MONEY.round()),
    "apostrophes": ([f"{v:,.2f}".replace(",", "'") for v in MONEY], MONEY),
    "no-break spaces": ([f"{v:,.2f}".replace(",", "\u00a0") for v in MONEY], MONEY),
    "narrow spaces": ([f" {v:,.2f}".replace(",", "\u202f") for v in MONEY], MONEY),
    "Unicode minus": ([f"{v}".replace("-", "\u2212") for v in BASE["a"]], BASE["a"]),
    "debts": ([f"-${v}" for v in MONEY], -MONEY),
    "truth": (["true", "False"] * 20, [1.0, 0.0] * 20),
    "times": ([f"{i % 24:02d}:{i:02d}" for i in range(N)], [i % 24 + i / 60 for i in range(N)]),
    "seconds": ([f"1:{i:02d}:36" for i in range(N)], [1.01 + i / 60 for i in range(N)]),
    "dates": (DAYS, FROM_NEW_YEAR),
    "German dates": ([f"{d[8:]}.{d[5:7]}.{d[:4]}" for d in DAYS], FROM_NEW_YEAR),
    "American dates": ([f"{d[5:7]}/{d[8:]}/{d[:4]}" for d in DAYS], FROM_NEW_YEAR),
    "dates and times": ([f"{d} 06:00:00" for d in DAYS], FROM_NEW_YEAR),
    "zones": ([f"{d}T06:00:00+02:00" for d in DAYS], FROM_NEW_YEAR),
    "months": ([pd.Timestamp(d).strftime("%d %b %Y") for d in DAYS], FROM_NEW_YEAR),
    "codes": ([f"{i % 7:03d}" for i in range(N)], CATEGORY),
    "text": (list("uvwx") * 10, CATEGORY),
}
REFUSED = {
    "one text": ([*map(str, MONEY[1:]), "n/a?"], "numbers in 39 of 40 rows, but not 'n/a?'"),
    "two texts": (["?", *map(str, MONEY[2:]), "x"], "not '?' of row 0, 'x' of row 39 (counted"),
    "two units": ([f"€{v}" for v in MONEY[1:]] + ["$5"], "but not '$5' of row 39"),
    "two currencies": (["€1", "$1"] * 20, "numbers in 20 of 40 rows, but not '$1' of row 1"),
    "units and none": ([f"{v}%" for v in MONEY[1:]] + ["5"], "but not '5' of row 39"),
    "decimal commas": ([f"{v}".replace(".", ",") for v in MONEY + 0.001], "--decimal ','"),
    "some thousands": (["1,234", "1500", *["2"] * 38], "if it stands between thousands, write"),
    "one bad date": ([*DAYS[1:], "soon"], "dates in 39 of 40 rows, but not 'soon' of row 39"),
    "days or months": ([f"{1 + i % 12}/{1 + i % 11}/2024" for i in range(N)], "may be two dates"),
    "id": ([f"r{i}" for i in range(N)], "column 'x' names each row once: --id 'x', or --drop"),
    "digits": ([str(2**53 + i % 3) for i in range(N)], "that floats cannot tell apart: --category"),
}


def ways(folder, column):
    """Return the table with the column x as a frame, and as read from CSV and Parquet."""
    frame = BASE.assign(x=column)
    frame.to_parquet(folder / "x.parquet", index=False)
    as_csv(folder / "x.csv", frame)
    return frame, *(bsvdd.read_table(folder / name) for name in ("x.csv", "x.parquet"))


def as_csv(path, frame):
    frame.to_csv(path, index=False)
    return path


def command(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.parametrize("case", READ)
def test_columns_that_are_read(case, tmp_path):
    column, expected = READ[case]
    tables = ways(tmp_path, column)
    scores = []
    for X in tables:
        est = SVDD().fit(X)
        assert (est.kernel_.categorical == (2,)) == (expected is CATEGORY)
        if expected is not CATEGORY:
            np.testing.assert_allclose(est.fit_.data.rows[:, 2], expected, rtol=1e-12)
        scores += [est.score_samples(rows) for rows in tables]
    for each in scores[1:]:
        np.testing.assert_allclose(each, scores[0], rtol=1e-9)


@pytest.mark.parametrize("case", REFUSED)
def test_columns_that_are_refused(case, tmp_path):
    column, message = REFUSED[case]
    for X in ways(tmp_path, column):
        with pytest.raises(ValueError, match=re.escape(message)):
            SVDD().fit(X)
    result = command("fit", tmp_path / "x.csv", "--out", tmp_path / "m")
    assert result.exit_code == 1 and message in result.output


TIMES = [i % 24 + 0.5 for i in range(N)]
OBJECTS = {  # by type, as data frames and Parquet have them
    "dates": ([pd.Timestamp(day).date() for day in DAYS], FROM_NEW_YEAR),
    "times": ([pd.Timestamp(f"2024-01-01 {i % 24:02d}:30").time() for i in range(N)], TIMES),
    "decimals": ([Decimal(f"{v}") for v in MONEY], MONEY),
    "datetimes": (pd.to_datetime(DAYS), FROM_NEW_YEAR),
    "zones": (pd.to_datetime(DAYS, utc=True), FROM_NEW_YEAR),
}


@pytest.mark.parametrize(("column", "expected"), OBJECTS.values(), ids=OBJECTS)
def test_columns_of_objects(column, expected, tmp_path):
    frame, _, parquet = ways(tmp_path, column)
    for X in (frame, parquet):
        np.testing.assert_allclose(SVDD().fit(X).fit_.data.rows[:, 2], expected)


@pytest.mark.parametrize("numbers", [range(7, 7 + N), range(N, 0, -1), np.arange(N) ** 2])
def test_whole_numbers_that_count_the_rows_are_named(numbers, tmp_path):
    for X in ways(tmp_path, numbers):
        with pytest.warns(DataWarning, match=r"column 'x' counts the rows, like an id, .*--id 'x'"):
            SVDD().fit(X)
    SVDD().fit(BASE.assign(x=RNG.permutation(np.arange(N) * 3)))  # all differ, which is common


def test_dates_are_kept_with_the_fit(tmp_path):
    """New texts are of the form of training, which alone tells days from months."""
    est = SVDD().fit(BASE.assign(x=READ["American dates"][0]))
    est.save(tmp_path / "m")
    new = BASE.head(3).assign(x=["03/04/2024", "01/01/2024", "12/31/2023"])
    soon = new.assign(x=["03/04/2024", "soon", ""])
    as_dates = new.assign(x=pd.to_datetime(["2024-03-04", "2024-01-01", "2023-12-31"]))
    for fit in (est, bsvdd.load(tmp_path / "m")):
        np.testing.assert_array_equal(fit.score_samples(new), fit.score_samples(as_dates))
        assert bsvdd.explain(fit, new).columns.attrs["dates"] == ["x: days since 2024-01-01"]
        with pytest.raises(ValueError, match="row 1 .* has 'soon', which is no date as in"):
            fit.predict(soon)
    lines = command("score", tmp_path / "m", as_csv(tmp_path / "x.csv", soon)).stdout.splitlines()
    assert lines[1].endswith(",") and lines[2].endswith("'x' is 'soon'") and "missing" in lines[3]


def test_the_command_says_which_columns_are_dates(tmp_path):
    for days, options in ((DAYS, ()), ([None, *DAYS[1:]], ("--missing", "impute"))):
        path = as_csv(tmp_path / "x.csv", BASE.assign(x=days))
        result = command("fit", path, "--model", "SVDD", "--out", tmp_path / "m", *options)
        assert result.exit_code == 0, result.output
        line = "column 'x' has dates, read as days since the first, 2024-01-01; if they should"
        assert options or line + " not count: --drop 'x'" in result.output
    rows = bsvdd.load(tmp_path / "m").fit_.data.rows[:, 2]
    assert rows[0] == np.median(rows[1:])


def test_new_rows_with_a_cell_that_is_no_number(tmp_path):
    est, new = SVDD().fit(BASE), BASE.astype(str)
    np.testing.assert_allclose(est.score_samples(new), est.score_samples(BASE))
    new.loc[7, "b"] = "?"
    for X in (new, bsvdd.read_table(as_csv(tmp_path / "new.csv", new))):
        with pytest.raises(ValueError, match=r"'b' is not numeric: row 7 .* has '\?', which"):
            est.predict(X)
