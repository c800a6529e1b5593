"""What a column is, by every way in: CSV, data frame and Parquet have one answer or one error."""

import io
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows.gaps import imputed
from bsvdd.inference.warning import DataWarning
from click.testing import CliRunner

import bsvdd
from bsvdd import SVDD
from bsvdd.cli import main

pytestmark = pytest.mark.filterwarnings("default::bsvdd.inference.warning.DataWarning")
N = 40
RNG = np.random.default_rng(3)
BASE = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
MONEY = np.round(np.exp(RNG.normal(7.0, 1.0, N)), 2)
DAYS = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(N)]
FROM_NEW_YEAR = [(pd.Timestamp(day) - pd.Timestamp("2024-01-01")).days for day in DAYS]

LONG = range(N)  # 40 different values
TEXT = [chr(97 + i % 26) + chr(97 + i // 26) for i in LONG]
ZONES = ["AB", "CD", "EF", "GH", "JK", "LM", "NP", "QR", "ST", "UV", "WX", "YZ"]


def dates(form, days=DAYS):
    return [pd.Timestamp(day).strftime(form) for day in days]


def since_first(days):
    return [(pd.Timestamp(day) - min(map(pd.Timestamp, days))).days for day in days]


MONTHS = [f"20{19 + i // 12}-{1 + i % 12:02d}-01" for i in LONG]
QUARTERS = [f"20{10 + i // 4}-{1 + 3 * (i % 4):02d}-01" for i in LONG]
WEEKS = [pd.Timestamp("2018-12-31") + pd.Timedelta(weeks=i) for i in LONG]
HALVES = [f"2024-01-01 {i % 24:02d}:{i:02d}" for i in LONG]
CLOCK = [i % 24 + i / 60 for i in LONG]
THOUSANDS = [203000 + 100001 * i for i in LONG]
LAPS = [(50 + i) / 60 + 0.5 / 60 for i in LONG]  # hours
# each way to write a column: the cells, the numbers that they are, and the line that is said
READ = {
    "plain": ([f"{v}" for v in MONEY], MONEY, None),
    "a mark of text": ([f"'{v}" for v in MONEY], MONEY, None),
    "a formula of text": ([f'="{v}"' for v in MONEY], MONEY, None),
    "debts in parentheses": (
        [f"({v})" if i % 2 else f"{v}" for i, v in enumerate(MONEY)],
        MONEY * np.resize([1, -1], N),
        "' is read as -",
    ),
    "powers of Fortran": ([f"{v:.9E}".replace("E", "D") for v in MONEY], MONEY, "D+0"),
    "Indian thousands": (
        [f"{2 + i},03,{i:03d}" for i in LONG],
        203000 + 100001 * np.arange(N),
        "02",
    ),
    "kilograms": ([f"{v} kg" for v in MONEY], MONEY, "'x' in kg"),
    "plurals": ([f"{i + 1} dollar{'s' * (i > 0)}" for i in LONG], range(1, N + 1), "'x' in dollar"),
    "boxes": ([f"{i + 1} box{'es' * (i > 0)}" for i in LONG], range(1, N + 1), "'x' in box"),
    "speeds": ([f"{v} m/s" for v in MONEY], MONEY, "'x' in m/s"),
    "per mille": ([f"{v} ‰" for v in MONEY], MONEY, "'x' in ‰"),
    "milliseconds": ([f"{v}ms" for v in MONEY], MONEY, "'x' in ms"),
    "crowns": ([f"{v} kr" for v in MONEY], MONEY, "'x' in kr"),
    "degrees": ([f"{v} °C" for v in MONEY], MONEY, "'x' in °C"),
    "percent": ([f"{v} %" for v in MONEY], MONEY, "'x' in %"),
    "currency before": ([f"€ {v}" for v in MONEY], MONEY, "'x' in €"),
    "currency after": ([f"{v} USD" for v in MONEY], MONEY, "'x' in USD"),
    "currency and thousands": ([f"${v:,.2f}" for v in MONEY], MONEY, "'x' in $"),
    "dollars of a country": ([f"US${v}" for v in MONEY], MONEY, "'x' in US$"),
    "rupees": ([f"Rs. {v}" for v in MONEY], MONEY, "'x' in Rs"),
    "about": ([f"~{v}" for v in MONEY], MONEY, "'x' in ~"),
    "more or less": ([f"±{v}" for v in MONEY], MONEY, "'x' in ±"),
    "debts": ([f"-${v}" for v in MONEY], -MONEY, "'x' in $"),
    "thousands": ([f"{v:,.0f}" for v in MONEY], MONEY.round(), None),
    "apostrophes": ([f"{v:,.2f}".replace(",", "'") for v in MONEY], MONEY, None),
    "no-break spaces": ([f"{v:,.2f}".replace(",", "\u00a0") for v in MONEY], MONEY, None),
    "narrow spaces": ([f" {v:,.2f}".replace(",", "\u202f") for v in MONEY], MONEY, None),
    "Unicode minus": ([f"{v}".replace("-", "\u2212") for v in BASE["a"]], BASE["a"], None),
    "truth": (["true", "False"] * 20, [1.0, 0.0] * 20, None),
    "times": ([f"{i % 24:02d}:{i:02d}" for i in LONG], CLOCK, "'x' has times, read as hours"),
    "seconds": ([f"1:{i:02d}:36" for i in LONG], 1.01 + np.arange(N) / 60, "'x' has times"),
    "halves of a day": (
        dates("%I:%M %p", [f"2024-01-01 {i % 24:02d}:{i:02d}" for i in LONG]),
        CLOCK,
        "times",
    ),
    "laps": (
        [f"{50 + i}:30" if i < 10 else f"1:{i - 10:02d}:30" for i in LONG],
        LAPS,
        "'x' has times",
    ),
    "dates": (DAYS, FROM_NEW_YEAR, "'x' has dates, read as days since the first, 2024-01-01"),
    "German dates": (dates("%d.%m.%Y"), FROM_NEW_YEAR, "'x' has dates"),
    "American dates": (dates("%m/%d/%Y"), FROM_NEW_YEAR, "'x' has dates"),
    "two digits": (dates("%m/%d/%y"), FROM_NEW_YEAR, "'x' has dates"),
    "names of months": (dates("%d-%b-%Y"), FROM_NEW_YEAR, "'x' has dates"),
    "names and two digits": (dates("%d-%b-%y"), FROM_NEW_YEAR, "'x' has dates"),
    "months": (dates("%d %b %Y"), FROM_NEW_YEAR, "'x' has dates"),
    "days of May": ([f"{1 + i % 28} May 2024" for i in LONG], np.arange(N) % 28, "'x' has dates"),
    "days of the week": (dates("%a %b %d %Y"), FROM_NEW_YEAR, "'x' has dates"),
    "month and year": (dates("%b-%y", MONTHS), since_first(MONTHS), "'x' has dates"),
    "year and month": (dates("%Y-%m", MONTHS), since_first(MONTHS), "'x' has dates"),
    "month / year": (dates("%m/%Y", MONTHS), since_first(MONTHS), "'x' has dates"),
    "quarters": (
        [f"{d[:4]}Q{1 + int(d[5:7]) // 3}" for d in QUARTERS],
        since_first(QUARTERS),
        "'x' has dates",
    ),
    "months first": (dates("%b-%d-%Y"), FROM_NEW_YEAR, "'x' has dates"),
    "weeks": (dates("%G-W%V", WEEKS), range(0, 7 * N, 7), "days since the first, 2018-12-31"),
    "eight digits": (dates("%Y%m%d"), FROM_NEW_YEAR, "'x' has dates"),
    "dates and times": ([f"{d} 06:00:00" for d in DAYS], FROM_NEW_YEAR, "'x' has dates"),
    "zones": ([f"{d}T06:00:00+02:00" for d in DAYS], FROM_NEW_YEAR, "'x' has dates"),
}
# text that is no number: codes, names and sentences, as categories or as names of rows
NO_NUMBERS = {
    "codes": ([f"{i % 7:03d}" for i in LONG], "category"),
    "letters and digits": ([f"A{i % 9}" for i in LONG], "category"),
    "invoices": ([f"INV-{1000 + i}" for i in LONG], "names"),
    "British postcodes": ([f"SW{i}A {i % 9}AA" for i in LONG], "names"),
    "Dutch postcodes": ([f"{1000 + 37 * i} {TEXT[i].upper()}" for i in LONG], "names"),
    "American postcodes": ([f"{10000 + i}-{2000 + i}" for i in LONG], "names"),
    "German postcodes": ([f"{1067 + i:05d}" for i in LONG], "names"),
    "versions": ([f"1.{i % 4}.2" for i in LONG], "category"),
    "versions with patches": ([f"1.{1 + i % 12}.{i}" for i in LONG], "names"),
    "seasons": ([f"{2005 + i % 11}-{6 + i % 11:02d}" for i in LONG], "category"),
    "postcodes of a town": ([f"{1012 + i % 25} {ZONES[i % 5]}" for i in LONG], "category"),
    "fractions": ([f"{i % 9}½" for i in LONG], "category"),
    "powers": ([f"{i % 9}²" for i in LONG], "category"),
    "telephones": ([f"+49 151 {100000 + i}" for i in LONG], "names"),
    "telephones of digits": ([f"+4915{10000000 + i}" for i in LONG], "names"),
    "American telephones": ([f"(555) {100 + i}-{2000 + i}" for i in LONG], "names"),
    "German telephones": ([f"0151/{234567 + i}" for i in LONG], "names"),
    "Polish telephones": ([f"5{i + 10} 345 678" for i in LONG], "names"),
    "streets": ([f"{i + 1} {TEXT[i]} street" for i in LONG], "names"),
    "sentences": ([f"2 boxes, {i} broken" for i in LONG], "names"),
    "names of people": ([f"{TEXT[i]} Smith" for i in LONG], "names"),
    "zones of the sky": ([f"0{i % 3}{ZONES[i % 12]}" for i in LONG], "category"),
    "months alone": (dates("%B", MONTHS), "category"),
    "few pairs": ([f"{i % 4}/{1 + i % 4}" for i in LONG], "category"),
    "two currencies": (["€1", "$1"] * 20, "category"),
    "few classes": ([f"{'123'[i % 3]}{('st', 'nd', 'rd')[i % 3]} class" for i in LONG], "category"),
    "codes with letters": ([f"{i % 9:03d}" if i % 3 else f"{100 + i}" for i in LONG], "category"),
    "few sizes": (["1 GB", "2 TB", "3 MB", "4 kB"] * 10, "category"),
    "text": (list("uvwx") * 10, "category"),
}
LONGER = [f"{i}{'kM'[i % 2] if i % 3 else ''}" for i in LONG]
REFUSED = {
    "one text": ([*map(str, MONEY[1:]), "n/a?"], "numbers in 39 of 40 rows, but not 'n/a?'"),
    "two texts": (["?", *map(str, MONEY[2:]), "x"], "not '?' of row 0, 'x' of row 39 (counted"),
    "two units": ([f"€{v}" for v in MONEY[1:]] + ["$5"], "but not '$5' of row 39"),
    "units and none": ([f"{v}%" for v in MONEY[1:]] + ["5"], "but not '5' of row 39"),
    "sizes": ([f"{i} {'MB' if i % 2 else 'GB'}" for i in LONG], "different units: '0 GB' of row 0"),
    "thousands and millions": (LONGER, "'1M' of row 1, '2k' of row 2, '0' of row 0 (c"),
    "house numbers": ([f"{i}{'abc'[i % 3]}" for i in LONG], "with different units: '1b' of row 1"),
    "pressures": ([f"{110 + i}/{70 + i % 9}" for i in LONG], "two numbers in a cell: '110/70'"),
    "sizes of tiles": ([f"{10 + i}x{i}" for i in LONG], "two numbers in a cell: '10x0' of row 0"),
    "odds": ([f"{i}/5" for i in LONG], "make two columns of them; or --category 'x'"),
    "feet and inches": (
        [f"{4 + i // 10}'{i % 10}" for i in LONG],
        'two numbers in a cell: "4\'0" of row',
    ),
    "errors": ([f"{i} ±0.1" for i in LONG], "two numbers in a cell: '0 ±0.1'"),
    "hexadecimal": ([f"0x{i:X}" for i in LONG], "hexadecimal numbers: '0x0' of row 0"),
    "clocks or laps": ([f"{i % 24}:30" for i in LONG[1:]] + ["1:02:10"], "and of three parts: '1"),
    "decimal commas": ([f"{v}".replace(".", ",") for v in MONEY + 0.001], "--decimal ','"),
    "some thousands": (["1,234", "1500", *["2"] * 38], "if it stands between thousands, write"),
    "one bad date": ([*DAYS[1:], "soon"], "dates in 39 of 40 rows, but not 'soon' of row 39"),
    "no such date": ([*DAYS[1:], "2023-02-30"], "but not '2023-02-30' of row 39"),
    "no such day": ([*dates("%Y%m%d", DAYS[1:]), "20240230"], "dates in 39 of 40 rows, but not"),
    "a date, or not": ([*DAYS[1:], "soon"], "or empty this cell, or --category 'x'"),
    "days or months": ([f"{1 + i % 12}/{1 + i % 11}/2024" for i in LONG], "may be two dates"),
    "digits": ([str(2**53 + i % 3) for i in LONG], "that floats cannot tell apart: --category"),
    "one zone": (
        [*DAYS[1:], "2024-01-24T10:00:00Z"],
        "dates with and without a time zone: '2024-01-24T10:00:00Z' of row 39, ",
    ),
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


def column_x(est):
    """Return the column x of a fit as numbers."""
    return est.fit_.training.filled.rows[:, 2]


def fit_with_lines(X):
    with warnings.catch_warnings(record=True) as lines:
        warnings.simplefilter("always", DataWarning)
        est = SVDD().fit(X)
    return est, " ".join(str(line.message) for line in lines)


@pytest.mark.parametrize("case", READ)
def test_columns_that_are_read(case, tmp_path):
    column, expected, line = READ[case]
    tables = ways(tmp_path, column)
    scores = []
    for X in tables:
        est, lines = fit_with_lines(X)
        assert not est.kernel_.categorical
        assert (line in lines) if line else not lines
        np.testing.assert_allclose(column_x(est), expected, rtol=1e-12)
        scores += [est.score_samples(rows) for rows in tables]
    for each in scores[1:]:
        np.testing.assert_allclose(each, scores[0], rtol=1e-9)


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_columns_that_are_no_numbers(case, tmp_path):
    """Codes, postcodes, telephone numbers, versions, sentences: not read, and no stop."""
    column, expected = NO_NUMBERS[case]
    tables = ways(tmp_path, column)
    scores = []
    for X in tables:
        est, lines = fit_with_lines(X)
        assert (est.kernel_.categorical == (2,)) == (expected == "category")
        assert ("column 'x' names the rows" in lines) == (expected == "names")
        scores += [est.score_samples(rows) for rows in tables]
        if expected == "names":
            assert not column_x(est).any()  # it does not count
    for each in scores[1:]:
        np.testing.assert_array_equal(each, scores[0])


def test_many_texts_with_digits_are_said():
    _, lines = fit_with_lines(BASE.assign(x=[f"{i % 30}-{i % 30 + 9}" for i in LONG]))
    assert "column 'x' has 30 different texts with digits, such as '0-9', each a category" in lines
    _, lines = fit_with_lines(BASE.assign(x=[f"A{i % 9}" for i in LONG]))
    assert not lines


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
        np.testing.assert_allclose(column_x(SVDD().fit(X)), expected)


CLOCKS = [f"{day} {i % 24:02d}:30:00" for i, day in enumerate(DAYS)]
LOCAL = pd.to_datetime(CLOCKS)
AWARE = LOCAL.tz_localize("UTC")
ZONED = {  # one column of instants, as types and texts have it
    "UTC": AWARE,
    "a city": AWARE.tz_convert("Europe/Berlin"),
    "an offset": AWARE.tz_convert("Etc/GMT-2"),
    "Z": AWARE.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "+02:00": AWARE.tz_convert("Etc/GMT-2").strftime("%Y-%m-%dT%H:%M:%S+02:00"),
    "-0330": (AWARE - pd.Timedelta(hours=3.5)).strftime("%Y-%m-%d %H:%M:%S-0330"),
    "objects": AWARE.tz_convert("Asia/Tokyo").to_pydatetime(),
}
UNZONED = {"types": LOCAL, "texts": CLOCKS, "objects": LOCAL.to_pydatetime()}


def of_cells(cells):
    """The table with the column x, whose objects stay objects."""
    return BASE.assign(
        x=cells if isinstance(cells, pd.Index) else pd.Series(list(cells), dtype=object)
    )


@pytest.mark.parametrize("case", ZONED)
def test_dates_of_any_zone_are_instants(case, tmp_path):
    for X in ways(tmp_path, of_cells(ZONED[case])["x"]):
        est = SVDD().fit(X)
        np.testing.assert_allclose(column_x(est), column_x(SVDD().fit(of_cells(AWARE))))
        for other in ZONED.values():
            rows = of_cells(other)
            np.testing.assert_array_equal(est.score_samples(rows), est.score_samples(X))


@pytest.mark.parametrize(("zoned", "case"), [*zip(ZONED, 3 * [*UNZONED], strict=False)])
def test_a_time_zone_is_in_training_and_in_new_rows_or_in_none(zoned, case, tmp_path):
    tables = of_cells(ZONED[zoned]), of_cells(UNZONED[case])
    for training, other, has in zip(tables, tables[::-1], ("with", "without"), strict=True):
        est = SVDD().fit(training)
        est.save(tmp_path / "m")
        for fit in (est, bsvdd.load(tmp_path / "m")):
            for X in ways(tmp_path, other["x"]):
                with pytest.raises(ValueError, match=f"row 0 .* which is no date .*, {has} a time"):
                    fit.predict(X)
        scored = command("score", tmp_path / "m", tmp_path / "x.csv")
        assert scored.exit_code == 1 and f"{has} a time zone" in scored.output


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
        with pytest.raises(ValueError, match="row 1 .* has 'soon', which is no date as in"):
            fit.predict(soon)
    lines = command("score", tmp_path / "m", as_csv(tmp_path / "x.csv", soon)).stdout.splitlines()
    assert [line.endswith(",x") for line in lines[1:4]] == [False, True, True]  # filled


REFUSED_LATER = {  # training, new rows, and why
    "another currency": ("currency before", ["€ 5", "$ 5"], "'$ 5', which is no number in '€'"),
    "no currency": ("currency before", ["€ 5", "5"], "row 1 (counted from 0) has '5', which is no"),
    "numbers": ("currency before", [5.0, 6.0], "row 0 (counted from 0) has '5.0', which"),
    "a share": ("percent", [0.12, 0.5], "which is no number in '%' as in training"),
    "a unit": ("plain", ["5", "5 kg"], "'5 kg', which is no number without a unit"),
    "a larger unit": ("kilograms", ["5 kg", "5 t"], "has '5 t', which is no number in 'kg'"),
    "seconds": (
        "times",
        ["13:15", "13:15:07"],
        "has '13:15:07', which is no time as in tr",
    ),
    "hours": ("times", [13.25, 13.5], "which is no time as in training (h:m)"),
    "another date": ("two digits", ["01/24/24", "2024-01-24"], "no date as in training (%m/%d/%y,"),
}


@pytest.mark.parametrize("case", REFUSED_LATER)
def test_a_unit_is_kept_with_the_fit(case, tmp_path):
    training, new, message = REFUSED_LATER[case]
    est, rows = SVDD().fit(BASE.assign(x=READ[training][0])), BASE.head(2).assign(x=new)
    est.save(tmp_path / "m")
    for fit in (est, bsvdd.load(tmp_path / "m")):
        for X in (rows, bsvdd.read_table(as_csv(tmp_path / "new.csv", rows))):
            with pytest.raises(ValueError, match=re.escape(message)):
                fit.predict(X)
    scored = command("score", tmp_path / "m", tmp_path / "new.csv")  # such a cell is a gap
    assert scored.exit_code == 1 or scored.stdout.splitlines()[-1].endswith(",x")


@pytest.mark.parametrize(
    "case", ["currency and thousands", "percent", "kilograms", "rupees", "laps"]
)
def test_decimal_commas_beside_a_unit(case, tmp_path):
    """The commands read a German file as the same table with points."""
    points = READ[case][0]
    commas = [text.translate(str.maketrans(".,", ",.")).replace("Rs,", "Rs.") for text in points]
    answers = []
    for texts, how in ((points, {}), (commas, {"sep": ";", "decimal": ","})):
        path = tmp_path / "x.csv"
        BASE.assign(x=texts).to_csv(path, index=False, **how)
        options = [part for name, sign in how.items() for part in (f"--{name}", sign)]
        made = command("fit", path, "--model", "SVDD", "--out", tmp_path / "m", *options)
        assert made.exit_code == 0 and "'x'" in made.output, made.output
        scored = command("score", tmp_path / "m", path, *options)
        answers.append(pd.read_csv(io.StringIO(scored.stdout), **how)["surprise"])
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-9)


SIZES = ["small", "medium", "large"]
ORDER = "x=small<medium < large"


def test_ordered_categories_keep_their_order(tmp_path):
    """A level is its place among the levels, in a frame, in Parquet and by the option of a file."""
    places = RNG.integers(0, 3, N).astype(float)
    sizes = pd.Categorical.from_codes(places.astype(int), SIZES, ordered=True)
    frame, file, parquet = ways(tmp_path, sizes)
    by_number = SVDD().fit(BASE.assign(x=places)).score_samples(BASE.assign(x=places))
    for X in (frame, parquet):
        est = SVDD().fit(X)
        est.save(tmp_path / "m")
        assert not est.kernel_.categorical
        for fit in (est, bsvdd.load(tmp_path / "m")):
            for new in (frame, file, parquet):
                np.testing.assert_allclose(fit.score_samples(new), by_number, rtol=1e-9)
    with pytest.raises(ValueError, match="'huge', which is no level as in training .small < med"):
        est.predict(file.assign(x="huge"))
    option = ("--order", ORDER)
    made = command("fit", tmp_path / "x.csv", "--model", "SVDD", "--out", tmp_path / "m", *option)
    assert made.exit_code == 0, made.output
    scored = command("score", tmp_path / "m", tmp_path / "x.csv")
    surprise = pd.read_csv(io.StringIO(scored.stdout))["surprise"]
    np.testing.assert_allclose(surprise, est.decision(frame)["surprise"], rtol=1e-9)


def test_levels_that_are_intervals_or_numbers(tmp_path):
    ages = pd.cut(pd.Series(range(N)), [-1, 9, 25, 60])
    for levels in (ages, ages.cat.codes.astype("category").cat.as_ordered()):
        est = SVDD().fit(BASE.assign(x=levels))
        np.testing.assert_array_equal(column_x(est), ages.cat.codes)
        est.predict(bsvdd.read_table(as_csv(tmp_path / "x.csv", BASE.assign(x=levels))))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("x=small<medium", "--order: 'x' is 'large' in row 2 (counted from 0), and 13 of 40 rows"),
        ("x=small", "--order must name a column and its different levels"),
        ("x", "--order must name a column and its different levels"),
        ("y=small<large", "column 'y' (--order) is not in the table"),
    ],
)
def test_an_order_that_cannot_be(option, message, tmp_path):
    path = as_csv(tmp_path / "x.csv", BASE.assign(x=np.resize(SIZES, N)))
    result = command("fit", path, "--out", tmp_path / "m", "--order", option)
    assert result.exit_code == 1 and message in result.output


def test_gaps_of_columns_with_a_form_are_filled(tmp_path):
    """A unit, a time and an order stay what they are if a gap is filled."""
    for case, option in (("kilograms", ()), ("times", ()), ("sizes", ("--order", ORDER))):
        cells = list(np.resize(SIZES, N)) if case == "sizes" else list(READ[case][0])
        path = as_csv(tmp_path / "x.csv", BASE.assign(x=[None, *cells[1:]]))
        options = ("--model", "SVDD", *option)
        made = command("fit", path, "--out", tmp_path / "m", *options)
        assert made.exit_code == 0, made.output
        training = bsvdd.load(tmp_path / "m").fit_.training
        expected = imputed(training.observed, training.observed).rows
        np.testing.assert_array_equal(training.filled.rows, expected)
        assert training.gaps.sum() == training.gaps[0, 2] == 1 and len(training.forms) == 1


def test_the_command_says_which_columns_are_dates(tmp_path):
    for days in (DAYS, [None, *DAYS[1:]]):
        path = as_csv(tmp_path / "x.csv", BASE.assign(x=days))
        result = command("fit", path, "--model", "SVDD", "--out", tmp_path / "m")
        assert result.exit_code == 0, result.output
        line = "column 'x' has dates, read as days since the first, 2024-01-01; if they should"
        assert days is not DAYS or line + " not count: --drop 'x'" in result.output
    rows = column_x(bsvdd.load(tmp_path / "m"))
    assert np.isfinite(rows[0])


def test_new_rows_with_a_cell_that_is_no_number(tmp_path):
    est, new = SVDD().fit(BASE), BASE.astype(str)
    np.testing.assert_allclose(est.score_samples(new), est.score_samples(BASE))
    new.loc[7, "b"] = "?"
    for X in (new, bsvdd.read_table(as_csv(tmp_path / "new.csv", new))):
        with pytest.raises(ValueError, match=r"'b': row 7 .* has '\?', which is no number"):
            est.predict(X)
