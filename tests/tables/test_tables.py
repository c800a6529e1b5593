"""What a column is: each form of cells is read, refused, or text."""

import re
import warnings
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bsvdd
from bsvdd import SVDD, Table, kernels
from bsvdd.tables.columns import numbered
from bsvdd.tables.files import Layout, read_features
from bsvdd.tables.training import TrainingTable
from tests.cases import warned

N = 40
RNG = np.random.default_rng(3)
BASE = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
MONEY = np.round(np.exp(RNG.normal(7.0, 1.0, N)), 2)
I = np.arange(N)  # noqa: E741  the number of the row
DAYS = pd.DatetimeIndex([f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in I])
MONTHS = pd.date_range("2019-01-01", periods=N, freq="MS")[RNG.permutation(N)]
TEXT = [chr(97 + i % 26) + chr(97 + i // 26) for i in I]
TOWNS = ["AB", "CD", "EF", "GH", "JK", "LM"]
quiet = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")


def days(of):
    return ((of - of.min()) / pd.Timedelta(days=1)).to_numpy()


def each(form, values=MONEY):
    return [form.format(v) for v in values]


# the cells, and the numbers that they are; what is said
READ = {
    "plain": (each("{}"), MONEY, None),
    "thousands": (each("{:,.0f}"), MONEY.round(), "is read as numbers with thousands"),
    "Unicode minus": (
        [str(v).replace("-", "\u2212") for v in BASE["a"]],
        BASE["a"],
        None,
    ),
    "no gap of numbers": (["None", *each("{}")[1:]], [np.nan, *MONEY[1:]], None),
    **{
        unit: (each(form), MONEY * sign, f"is read as numbers in {unit}")
        for form, unit, sign in (
            *(
                ("{} kg", "kg", 1),
                ("{} m/s", "m/s", 1),
                ("{} ‰", "‰", 1),
                ("{}ms", "ms", 1),
            ),
            *(
                ("{} °C", "°C", 1),
                ("{} %", "%", 1),
                ("€ {}", "€", 1),
                ("{} USD", "USD", 1),
            ),
            *(("US${}", "US$", 1), ("-${}", "$", -1), ("{:.2f}\u00a0kr", "kr", 1)),
            *(("{:,.2f} m²", "m²", 1), ("{} boxes", "boxes", 1)),
        )
    },
    **{
        form: (
            list(DAYS.strftime(form)),
            days(DAYS),
            "has dates, read as days since the first, 2",
        )
        for form in (
            *(
                "%Y-%m-%d",
                "%d.%m.%Y",
                "%m/%d/%Y",
                "%m/%d/%y",
                "%d-%b-%Y",
                "%d-%b-%y",
                "%d %b %Y",
            ),
            *(
                "%a %b %d %Y",
                "%b-%d-%Y",
                "%Y%m%d",
                "%Y-%m-%d %H:%M:%S",
                "%Y-%m-%dT%H:%M:%S+02:00",
            ),
            *("%d.%m.%Y %H:%M", "%B %d, %Y", "%Y/%m/%d", "%Y/%m/%d %H:%M", "%b %d %Y"),
        )
    },
    **{
        form: (
            list(MONTHS.strftime(form)),
            days(MONTHS),
            "has dates, read as days since the first",
        )
        for form in ("%b-%y", "%Y-%m", "%m/%Y", "%b %Y")
    },
}
TEXTS = {  # no number: categories, or names of rows
    "codes": ([f"{i % 7:03d}" for i in I], "category"),
    "codes with letters": (
        [f"{i % 9:03d}" if i % 3 else f"{100 + i}" for i in I],
        "category",
    ),
    "letters and digits": ([f"A{i % 9}" for i in I], "category"),
    "versions": ([f"1.{i % 4}.2" for i in I], "category"),
    "seasons": ([f"{2005 + i % 11}-{6 + i % 11:02d}" for i in I], "category"),
    "postcodes of a town": ([f"{1012 + i % 25} {TOWNS[i % 5]}" for i in I], "category"),
    "None is a level": (["None", "Some", "Freq", "Some"] * 10, "category"),
    "months alone": (list(MONTHS.strftime("%B")), "category"),
    "text": (list("uvwx") * 10, "category"),
    "invoices": ([f"INV-{1000 + i}" for i in I], "names"),
    "British postcodes": ([f"SW{i}A {i % 9}AA" for i in I], "names"),
    "Dutch postcodes": ([f"{1000 + 37 * i} {TEXT[i].upper()}" for i in I], "names"),
    "American postcodes": ([f"{10000 + i}-{2000 + i}" for i in I], "names"),
    "German postcodes": ([f"{1067 + i:05d}" for i in I], "names"),
    "versions with patches": ([f"1.{1 + i % 12}.{i}" for i in I], "names"),
    "telephones": ([f"+4915{10000000 + i}" for i in I], "names"),
    "names of people": ([f"{TEXT[i]} Smith" for i in I], "names"),
    "rupees": (each("Rs. {}"), "names"),
}
MISSING, NUMBER = "table=bsvdd.Table(missing=[", "pandas.to_numeric"
REFUSED = {  # words, and a way out beside categories and leaving it out
    "one text": (
        [*each("{}")[1:], "n/a?"],
        "has 'n/a?' in row 39 (counted from 0; 1 such",
        NUMBER,
    ),
    "two texts": (
        ["?", *each("{}")[2:], "x"],
        "has '?' in row 0 (counted from 0; 2",
        NUMBER,
    ),
    "two units": (
        [*each("€{}")[1:], "$5"],
        "'$5' in row 39 .*numbers in '$' beside",
        MISSING,
    ),
    "units and none": (
        [*each("{}%")[1:], "5"],
        "numbers beside numbers in '%'",
        MISSING,
    ),
    "sizes": (
        [f"{i} {'MB' if i % 2 else 'GB'}" for i in I],
        "numbers in 'MB' beside numbers",
        "",
    ),
    "plurals": (
        ["1 box", *(f"{i} boxes" for i in I[1:])],
        "'box' beside numbers in 'b",
        MISSING,
    ),
    "house numbers": (
        [f"{i}{'abc'[i % 3]}" for i in I],
        "numbers in 'b' beside numbers in",
        "",
    ),
    "few classes": (
        [("1st", "2nd", "3rd")[i % 3] for i in I],
        "numbers in 'nd' beside",
        "",
    ),
    "decimal commas": (
        [f"{v}".replace(".", ",") for v in MONEY + 0.001],
        "comma",
        ".str.replace('.', '').str.replace(',', '.')",
    ),
    "some thousands": (
        ["1,234", "1500", *["2"] * 38],
        "'1,234' in row 0",
        "str.replace(',', '')",
    ),
    "below a limit": (
        ["<1", *each("{}")[1:]],
        "numbers below a limit",
        "takes half the limit",
    ),
    "times": (
        [f"{i % 24:02d}:30" for i in I],
        "'00:30' in row 0 .*times",
        "pandas.to_timedelta",
    ),
    "laps": ([f"{i % 24}:30" for i in I[1:]] + ["1:02:10"], "times", ""),
    "halves of a day": ([f"{1 + i % 12}:30 PM" for i in I], "times", "cyclic={'x': 24"),
    "one text among thousands": (
        [*each("{:,.0f}", MONEY + 1e4)[1:], "n/a?"],
        "texts beside numbers",
        MISSING,
    ),
    "numbers of invoices": ([f"{1187 + i}-{1 + i % 9}" for i in I], "texts: X", ""),
    "days or months": (
        [f"{1 + i % 12}/{1 + i % 11}/2024" for i in I],
        "two dates",
        "%m/%d/%Y",
    ),
    "one bad date": (
        [*DAYS[1:].strftime("%Y-%m-%d"), "soon"],
        "texts beside dates",
        "errors='co",
    ),
    "no such day": (
        [*DAYS[1:].strftime("%Y%m%d"), "20240230"],
        "eight digits, but 20240230",
        "",
    ),
    "one zone": (
        [*DAYS[1:].strftime("%Y-%m-%d"), "2024-01-24T10:00:00Z"],
        "time zone",
        "utc=True",
    ),
    "quarters": ([f"{2010 + i // 4}Q{1 + i % 4}" for i in I], "texts", ""),
    "digits": ([str(2**53 + i % 3) for i in I], "that floats cannot tell apart", ""),
    "infinite": (["inf", *each("{}")[1:]], "it is inf in row 0", "numpy.nan"),
    **{
        name: (cells, "has", "")
        for name, cells in {
            "marks of text": each("'{}"),
            "formulas of text": each('="{}"'),
            "powers of Fortran": each("{:.9E}".replace("E", "e"))
            and [f"{v}D+02" for v in MONEY],
            "Indian thousands": [f"{2 + i},03,{i:03d}" for i in I],
            "about": each("~{}"),
            "more or less": each("±{}"),
            "weeks": [f"2019-W{1 + i:02d}" for i in I],
            "fractions": [f"{i % 9}½" for i in I],
            "powers": [f"{i % 9}²" for i in I],
            "telephones with blanks": [f"+49 151 {100000 + i}" for i in I],
            "American telephones": [f"(555) {100 + i}-{2000 + i}" for i in I],
            "streets": [f"{i + 1} {TEXT[i]} street" for i in I],
            "ranges": [f"{i % 30}-{i % 30 + 9}" for i in I],
            "pressures": [f"{110 + i}/{70 + i % 9}" for i in I],
            "sizes of tiles": [f"{10 + i}x{i}" for i in I],
            "feet and inches": [f"{4 + i // 10}'{i % 10}" for i in I],
            "hexadecimal": [f"0x{i:X}" for i in I],
        }.items()
    },
}


def by_files(cells, folder):
    """Return the table with a column x as a frame, and read from CSV and Parquet."""
    frame = BASE.assign(x=cells)
    frame.to_csv(folder / "x.csv", index=False)
    frame.to_parquet(folder / "x.parquet", index=False)
    return frame, *(bsvdd.read_table(folder / name) for name in ("x.csv", "x.parquet"))


def pasted(text):
    """Return the lines of Python in a message: each as long as it is one."""
    found = []
    for start in re.finditer(r"X(\['x'\])? = ", text):
        line = text[start.start() :].partition(";")[0]
        for end in range(len(line), 0, -1):
            with suppress(SyntaxError):
                compile(line[:end], "message", "exec")
                found.append(line[:end])
                break
    assert found, text
    return found


def require_lines_that_work(text, X):
    """Paste each line of Python in a message, and each option; X is read then."""
    for line in pasted(text):
        names = {"X": X.copy(), "pandas": pd, "numpy": np}
        exec(line, names)
        Table().fit(names["X"])
    for code in re.findall(r"table=(bsvdd\.Table\(.*?\]\))", text):
        eval(code).fit(X)


@pytest.mark.parametrize("case", READ)
def test_forms_that_are_read(case, tmp_path):
    cells, expected, line = READ[case]
    tables = by_files(cells, tmp_path)
    for X in tables:
        table, lines = warned(Table().fit, X)
        assert any(line in each for each in lines) if line else not lines
        for rows in tables:
            np.testing.assert_allclose(table.floats(rows)[:, 2], expected, rtol=1e-12)
        np.testing.assert_allclose(
            table.floats(table.frame(table.floats(X)))[:, 2], expected
        )


@quiet
@pytest.mark.parametrize("case", TEXTS)
def test_forms_that_are_text(case, tmp_path):
    cells, kind = TEXTS[case]
    for X in by_files(cells, tmp_path):
        table, lines = warned(Table().fit, X)
        floats = table.floats(X)[:, 2]
        assert table.kinds["x"] == kind
        assert any("column 'x' names the rows" in each for each in lines) == (
            kind == "names"
        )
        if kind == "names":
            assert not floats.any()  # it does not count
        else:
            assert table.frame(table.floats(X))["x"].tolist() == cells
            assert set(table.floats(X.assign(x="?"))[:, 2]) == {len(set(cells))}


@quiet
@pytest.mark.parametrize("case", REFUSED)
def test_forms_that_are_refused(case, tmp_path):
    """The message has the cell and its row, and each line in it works when pasted."""
    cells, words, way = REFUSED[case]
    for X in by_files(cells, tmp_path):
        with pytest.raises(ValueError, match="column 'x' has ") as error:
            Table().fit(X)
        text = str(error.value)
        assert (
            re.search(re.escape(words).replace(r"\.\*", ".*"), text) and way in text
        ), text
        require_lines_that_work(text, X)
    options = {"category": ("x",)}, {"drop": ("x",)}
    options += tuple({"missing": (v,)} for v in re.findall(r"missing=\['(.*?)'", text))
    for layout in (Layout(**each) for each in options):
        layout.table.fit(read_features(tmp_path / "x.csv", layout)[0])


OBJECTS = {  # columns by their types: the kind, and floats; or words of the refusal
    "dates": ([day.date() for day in DAYS], "dates", days(DAYS)),
    "datetimes": (DAYS, "dates", days(DAYS)),
    "datetimes in seconds": (DAYS.astype("datetime64[s]"), "dates", days(DAYS)),
    "zones": (
        DAYS.tz_localize("Europe/Berlin"),
        "dates",
        days(DAYS.tz_localize("Europe/Berlin")),
    ),
    "decimals": ([Decimal(f"{v}") for v in MONEY], "numbers", MONEY),
    "nullable": (
        pd.array([None, *I[1:] % 7], "Int64"),
        "numbers",
        [np.nan, *I[1:] % 7],
    ),
    "arrow": (pd.array(I % 7, "int64[pyarrow]"), "numbers", I % 7),
    "arrow strings": (pd.array(list("ab") * 20, "string[pyarrow]"), "category", I % 2),
    "truth": (I % 2 == 0, "numbers", I % 2 == 0),
    "truth with gaps": (
        [None, *(I[1:] % 2 == 0)],
        "numbers",
        [np.nan, *(I[1:] % 2 == 0)],
    ),
    "unused": (pd.Categorical(list("ab") * 20, list("zab")), "category", I % 2),
    "ordered": (
        pd.Categorical(list("ab") * 20, list("bza"), ordered=True),
        "levels",
        2 - I % 2 * 2,
    ),
    "intervals": (
        pd.cut(pd.Series(I), [-1, 9, 25, 60]),
        "levels",
        np.digitize(I, [10, 26]),
    ),
    "durations": (pd.to_timedelta(I, "h"), "durations", None),
    "durations as objects": (
        list(pd.to_timedelta(I, "h").to_pytimedelta()),
        "durations",
        None,
    ),
    "periods": (pd.period_range("2020-01", periods=N, freq="M"), "periods", None),
    "times": (
        [pd.Timestamp(f"2024-01-01 {i % 24:02d}:30").time() for i in I],
        "numbers",
        I % 24 + 0.5,
    ),
    "nothing": ([None] * N, "no value in any row", None),
    "infinite": ([np.inf, *MONEY[1:]], "infinite value: it is inf in row 0", None),
    "lists": ([[i] for i in I], "objects (list)", None),
    "complex": (I * 1j, "complex numbers", None),
    "days of Arrow": (
        pd.array(DAYS.date, pd.ArrowDtype(pa.date32())),
        "dates",
        days(DAYS),
    ),
}


@quiet
@pytest.mark.parametrize("case", OBJECTS)
def test_types_of_columns(case):
    cells, kind, expected = OBJECTS[case]
    X = BASE.assign(
        x=pd.Series(cells, dtype=object if isinstance(cells, list) else None)
    )
    if expected is None:
        with pytest.raises(
            ValueError,
            match=f"column 'x' has .*{re.escape(kind)}|x' has {re.escape(kind)}",
        ) as error:
            Table().fit(X)
        return require_lines_that_work(str(error.value), X)
    table = Table().fit(X)
    rows = table.floats(X)
    assert table.kinds["x"] == kind
    np.testing.assert_allclose(rows[:, 2], expected)
    np.testing.assert_allclose(table.floats(table.frame(rows)), rows, rtol=1e-12)


def test_dates_have_a_time_zone_in_training_and_in_new_rows_or_in_none():
    local = pd.to_datetime([f"2024-01-{1 + i % 28:02d} {i % 24:02d}:30" for i in I])
    aware = local.tz_localize("UTC")
    zoned = (
        *(aware, aware.tz_convert("Asia/Tokyo"), list(aware.to_pydatetime())),
        *(list(aware.strftime(f"%Y-%m-%dT%H:%M:%S{z}")) for z in ("Z", "+00:00")),
    )
    plain = (
        local,
        list(local.strftime("%Y-%m-%d %H:%M:%S")),
        list(local.to_pydatetime()),
    )
    zoned, plain = ([BASE.assign(x=pd.Series(x)) for x in of] for of in (zoned, plain))
    with warnings.catch_warnings(action="ignore"):
        for same, others, has in ((zoned, plain, "with"), (plain, zoned, "without")):
            for table in map(Table().fit, same):
                for X in same:
                    np.testing.assert_array_equal(
                        table.floats(X), table.floats(same[0])
                    )
                for X in others:
                    with pytest.raises(
                        ValueError, match=f"row 0 .* no date .*, {has} a time zone"
                    ):
                        table.floats(X)


NEW = {  # training cells, a new cell, what it is not
    "unit": (each("{} kg"), "5 lb", "no number in 'kg' as in training"),
    "no unit": (each("{} kg"), "5", "no number in 'kg' as in training"),
    "text": (MONEY, "?", "no number without a unit"),
    "thousands": (MONEY, "1,234", "no number without a unit"),
    "infinite": (MONEY, "inf", "no number without a unit"),
    "date": (
        list(DAYS.strftime("%m/%d/%Y")),
        "31.01.2024",
        r"no date as in training \(%m/%d/%Y, without",
    ),
    "level": (
        pd.Categorical(list("ab") * 20, list("ba"), ordered=True),
        "c",
        r"no level as in training \(b < a\)",
    ),
}


@quiet
@pytest.mark.parametrize("case", NEW)
def test_cells_of_new_rows(case):
    cells, cell, words = NEW[case]
    X = BASE.assign(x=cells)
    est = SVDD().fit(X)
    new = X.astype({"x": object})
    new.loc[7, "x"] = cell
    with pytest.raises(
        ValueError,
        match=rf"column 'x': row 7 \(counted from 0; 1 such row\) has .*{words}",
    ):
        est.predict(new)
    new.loc[7, "x"] = None
    np.testing.assert_allclose(
        np.delete(est.score_samples(new) - est.score_samples(X), 7), 0.0, atol=1e-9
    )


# what is said


SAID = {  # a column of numbers or dates, and the line
    "ids": (I + 7, r"counts on from row to row, and .*X\.set_index\('x'\)"),
    "ids with holes": (np.sort(RNG.choice(4 * N, N, False)), "counts on from row"),
    "a range in any order": (RNG.permutation(N), "numbers the rows, like an id"),
    "no id": (RNG.permutation(3 * I), None),
    "dates": (
        pd.date_range("2024-01-01", periods=N),
        "counts on from row to row",
    ),
    "dates of orders": (
        np.repeat(pd.date_range("2024-01-01", periods=20), 2),
        "counts on from",
    ),
    "dates in any order": (DAYS, None),
    "a code": (
        np.where(I % 8 == 3, -999, I % 7 + 30.5),
        "-999 in 5 rows, alone beyond the others .30.5 to 36.5",
    ),
    "a code of a survey": (np.where(I % 8 == 3, 99, I % 4), "has 99 in 5 rows"),
    "zeros": (np.where(I % 8 == 3, 0, I % 7), None),
    "an odd row": (np.where(I == 3, 900.0, MONEY / 1e4), None),
    "few values": (I % 3, None),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_said_of_values(case):
    cells, line = SAID[case]
    lines = "\n".join(warned(Table().fit, BASE.assign(x=cells))[1])
    assert (
        re.search(f"column 'x'.*{line}", lines) if line else "column 'x'" not in lines
    )


def test_values_that_stand_for_not_known_are_gaps():
    """The pasted line works: in training, in new rows, in arrays, in a saved fit."""
    X = BASE.assign(x=SAID["a code"][0])
    _, lines = warned(SVDD().fit, X)
    table = eval(re.search(r"table=(bsvdd\.Table\(.*?\]\))", "\n".join(lines))[1])
    est, (line,) = warned(SVDD(table=table).fit, X)
    assert "5 of 40 rows have missing values, in 'x' (5)" in line
    with warnings.catch_warnings(action="ignore"):
        expected = SVDD().fit(X.replace(-999, np.nan)).decision(X.replace(-999, np.nan))
        for of, rows in (
            (est, X),
            (est, X.astype(str)),
            (SVDD(table=Table(missing=["2=-999"])).fit(X.to_numpy()), X.to_numpy()),
        ):
            pd.testing.assert_frame_equal(
                of.decision(rows).reset_index(drop=True),
                expected.reset_index(drop=True),
            )
        text = X.assign(x=np.where(I % 8 == 3, "?", each("{} kg")))
        assert (
            SVDD(table=Table(missing=["?"])).fit(text).table_.table.columns[2].unit
            == "kg"
        )


# cyclic columns


@quiet
def test_a_cyclic_column_has_two_coordinates_and_one_name(tmp_path):
    rng = np.random.default_rng(1)
    hour = rng.normal(0.0, 1.5, 200) % 24
    X = pd.DataFrame(
        {"a": rng.normal(size=200), "hour": hour, "c": rng.choice(["u", "v"], 200)}
    )
    X.loc[5, "hour"] = np.nan
    est, line = SVDD(table=Table(cyclic={"hour": 24})).fit(X), SVDD().fit(X)
    new = X.iloc[[0, 0, 0, 0]].assign(hour=[0.0, 23.99, 12.0, 24.0], a=0.0)
    near, before, far, again = est.score_samples(new)
    assert near == pytest.approx(before, abs=0.1) and near == pytest.approx(
        again, abs=1e-6
    )
    assert (
        est.predict(new).tolist() == [1, 1, -1, 1] and line.score_samples(new)[2] > far
    )
    assert list(est.feature_names_in_) == list(est.table_.values) == ["a", "hour", "c"]
    assert bsvdd.explain(est, new.iloc[[2]]).top_columns(1)["column_1"].tolist() == [
        "hour"
    ]
    angle = 2 * np.pi * est.table_.values["hour"] / 24
    filled = est.fit_.rows.X
    np.testing.assert_allclose(np.delete(filled[:, 1], 5), np.delete(np.cos(angle), 5))
    np.testing.assert_allclose(np.delete(filled[:, 3], 5), np.delete(np.sin(angle), 5))
    est.save(tmp_path / "m")
    same = bsvdd.load(tmp_path / "m")
    np.testing.assert_allclose(same.score_samples(new), est.score_samples(new))
    X.loc[7, "hour"] = 12.0
    found = bsvdd.stand_out(SVDD(table=Table(cyclic={"hour": 24})), X.drop(index=5))
    assert found.table.index[0] == 7
    of_array = SVDD(table=Table(cyclic={1: 24})).fit(X[["a", "hour"]].to_numpy())
    assert of_array.predict([[0.0, 0.0], [0.0, 12.0]]).tolist() == [1, -1]


# categories, and tables of other libraries


FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "text": RNG.choice(["x", "y", "z"], N),
        "category": pd.Categorical(RNG.choice(["u", "v"], N)),
        "level": pd.Categorical(
            RNG.choice(["lo", "hi"], N), ["lo", "hi"], ordered=True
        ),
        "day": pd.to_datetime("2024-01-01")
        + pd.to_timedelta(RNG.integers(0, 90, N), "D"),
        "weight": [f"{w:.1f} kg" for w in RNG.gamma(5.0, size=N)],
        "kind": RNG.permutation([0] * 35 + [1] * 5),
    }
)
POLARS = pl.from_pandas(FRAME).with_columns(
    pl.col("day").cast(pl.Date), pl.col("level").cast(pl.Enum(["lo", "hi"]))
)


@quiet
@pytest.mark.parametrize(
    "table", [POLARS, POLARS.lazy(), POLARS.to_arrow()], ids=["polars", "lazy", "arrow"]
)
def test_tables_of_other_libraries(table, tmp_path):
    est, expected = SVDD().fit(table, "kind"), SVDD().fit(FRAME, "kind")
    assert (
        est.kernel_.categorical == (1, 2) and est.table_.table == expected.table_.table
    )
    est.save(tmp_path / "m")
    for fit in (est, bsvdd.load(tmp_path / "m")):
        for rows in (table, FRAME, FRAME[FRAME.columns[::-1]]):
            np.testing.assert_array_equal(
                fit.score_samples(rows), expected.score_samples(FRAME)
            )
    np.testing.assert_array_equal(bsvdd.p_value(est, table), bsvdd.p_value(est, FRAME))
    if table is POLARS:
        shares = [bsvdd.explain(est, of[:3]).shares for of in (table, FRAME)]
        pd.testing.assert_frame_equal(*shares)


@quiet
def test_categories_count_as_the_product_says():
    """k is k_0 of the numbers times rho for each category that differs; 7 is "7"."""
    of, rho = kernels.Tabular(kernels.RBF("mean")), 0.01
    X = BASE.assign(c=I % 3, d=RNG.choice(["u", "v"], N)).astype({"c": "category"})
    est = SVDD(kernel=of).fit(X)
    k0 = SVDD(kernel=of).fit(BASE).kernel_
    Z = k0.inputs(BASE.to_numpy())
    differ = sum(
        X[[c]].astype(str).to_numpy() != X[c].astype(str).to_numpy() for c in "cd"
    )
    same = SVDD(kernel=kernels.Precomputed(diagonal=1.0)).fit(k0(Z, Z) * rho**differ)
    np.testing.assert_allclose(
        est.distance(X), same.distance(k0(Z, Z) * rho**differ), rtol=1e-8
    )
    for other in (X.astype({"c": int}), X.astype({"c": float}), X.astype({"c": str})):
        np.testing.assert_array_equal(est.score_samples(other), est.score_samples(X))
    codes = BASE.assign(c=I % 3)
    way, both = (
        SVDD(kernel=kernels.Tabular(categorical=(2,))),
        (codes, codes.to_numpy()),
    )
    scores = [way.fit(rows).score_samples(rows) for rows in both]
    np.testing.assert_array_equal(*scores)
    with pytest.raises(
        ValueError, match="column 'd' is not numeric: .*kernels.Tabular"
    ):
        SVDD(kernel=kernels.RBF()).fit(X.drop(columns="c"))


def test_names_of_columns():
    X = BASE.assign(c=1.0 * (I % 7))
    est = SVDD().fit(X.set_axis([("a", 1), ("a", 2), ("b", 1)], axis=1))
    est.predict(
        X.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), axis=1)
    )
    with pytest.raises(ValueError, match="X has no column besides names of rows"):
        Table().fit(pd.DataFrame({"c": TEXT}))
    numbered, turned = (
        SVDD().fit(X.set_axis([2, 0, 1], axis=1)),
        X[["b", "c", "a"]].to_numpy(),
    )
    scores = [est.score_samples(turned) for est in (numbered, SVDD().fit(turned))]
    np.testing.assert_array_equal(*scores)


def test_a_code_of_numbers_is_no_flag():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "smoker": [True, False, False, True]})
    read = TrainingTable.read(X, Table(missing=[0]))
    assert read.values["a"].isna().tolist() == [True, False, False, False]
    assert read.values["smoker"].notna().all()


def test_rows_whose_index_is_called_line_may_have_equal_names():
    index = pd.Index([1, 1, 2], name="line")
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "city": ["x", None, "x"]}, index)
    assert numbered(X).index.tolist() == [0, 1, 2]
    lines = X.set_axis(pd.RangeIndex(2, 5, name="line"))
    assert numbered(lines) is lines


def test_a_table_of_decisions_is_printed_so_only_with_its_numbers():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)))
    found = SVDD().fit(X).decision(X[:3])
    assert "0.000" not in repr(found.isna()) and "False" in repr(found.isna())
    assert str(found["surprise"].iloc[0]) in repr(found.astype(str))


@quiet
def test_a_code_of_one_column_is_known_in_arrays_of_new_rows():
    X = pd.DataFrame({"a": np.r_[np.zeros(9), RNG.normal(10.0, 1.0, 60)]})
    X["b"] = X["a"] + 1.0
    est = SVDD(table=Table(missing=["a=0"])).fit(X)
    with warnings.catch_warnings(action="ignore"):
        both = [
            est.decision(rows)["surprise"].iloc[0] for rows in (X[:1], X[:1].to_numpy())
        ]
    assert both[0] == both[1] < 1.0


def test_remedies_of_codes_name_the_cell_and_columns_of_any_name():
    rng = np.random.default_rng(0)
    weights = ["-999 kg"] * 4 + [f"{x:.1f} kg" for x in rng.normal(70.0, 5.0, 96)]
    X = pd.DataFrame({"father's w": weights, "{x} k": rng.normal(size=100)})
    _, lines = warned(TrainingTable.read, X)
    text = "\n".join(lines)
    assert 'column "father\'s w" has -999 kg in 4 rows' in text
    table = eval(re.search(r"table=(bsvdd\.Table\(.*?\]\))", text)[1])
    _, lines = warned(table.fit, X)
    assert np.isnan(warned(table.fit, X)[0].floats(X)).sum() == 4
    odd = X.assign(**{"{x} k": ["n/a?", *map(str, X["{x} k"][1:])]})
    with pytest.raises(ValueError, match=re.escape("missing=['{x} k=n/a?']")):
        Table().fit(odd[["{x} k"]])


def test_a_code_of_one_column_is_a_value_of_the_others():
    X = pd.DataFrame(
        {"ph": [0.0, 7.1, 6.9], "children": [0, 2, 0], "city": ["0", "x", "y"]}
    )
    read = Table(missing=["ph=0"]).known(X)
    assert read.isna().to_numpy().nonzero()[0].tolist() == [0] and pd.isna(
        read.iloc[0, 0]
    )
    assert Table(missing=["city=0", 2]).known(X).isna().sum().tolist() == [0, 1, 1]
    numbers = X[["ph", "children"]].to_numpy()
    assert np.isnan(Table(missing=["0=0"]).known(numbers)).sum() == 1
