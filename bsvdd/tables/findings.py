"""What is wrong with rows without any probability: copies, misspelt words, codes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from ..base.messages import quoted
from .columns import LINE, text_of, texts
from .copies import equal_beyond_chance
from .features import no_features
from .reading import codes_of
from .training import TrainingTable, row_hashes

TIMES = 5  # a spelling is so many times as frequent as one that is wrong
LETTERS = 4  # of a word for each that may be wrong, of two at most
FEW = 5  # frequent values of a column, beside which a short one may be wrong
ONCE_OR_TWICE = 2
MANY_TIMES = 50  # as TIMES, of words of three letters
MOST_LEVELS = 5000
SIGNS = re.compile(r"[\s_.,'\u2018\u2019`]|(?<=\w)-(?=\w)")
COLUMNS = ["rows", "finding", "column", "value", "expected"]

Finding = tuple[np.ndarray, str, object, str, str]


def findings(table: TrainingTable) -> pd.DataFrame:
    """Return rows that are copies, misspelt words, and codes for "not known".

    Rows are duplicates if they are equal in all features, and either in their ids and
    names too, or beyond chance, see :func:`bsvdd.tables.copies.equal_beyond_chance`.
    A word is misspelt if another one of its column is five times as frequent, and
    differs by case, blanks and signs, or by one letter in four, two at most, or a code
    by zeros before it. Beside at
    most five others, words of one or three letters that occur once or twice may have
    one wrong too, or of three if another is fifty times as frequent. Codes lie alone
    beyond all other numbers of a column.

    Parameters
    ----------
    table : TrainingTable

    Returns
    -------
    pandas.DataFrame
        For each finding the positions of its ``rows``; ``finding``: duplicate, spelling
        or code; ``column``, ``value``, and what is ``expected``.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd.tables.findings import findings
    >>> from bsvdd.tables.training import TrainingTable
    >>> X = pd.DataFrame({"city": ["Bonn", "Rome"] * 8 + ["Bnon"]})
    >>> findings(TrainingTable.read(X))[["rows", "value", "expected"]].values.tolist()
    [[array([16]), 'Bnon', 'Bonn']]
    """
    columns = dict(zip(table.frame, table.table.columns, strict=True))
    values = table.values
    apart = no_features(table.frame, table.table.columns, values)
    found: list[Finding] = list(_duplicates(table, list(apart)))
    numbers = [n for n, c in columns.items() if c.kind == "numbers" and n not in apart]
    sure = {code for name in numbers for code in codes_of(values[name].to_numpy())[0]}
    for name, column in columns.items():
        if column.kind == "category" and column.values and name not in apart:
            cells = texts(table.frame[name].reset_index(drop=True))
            found += [(rows, "spelling", name, *of) for rows, *of in _misspelt(cells)]
        if name in numbers and sure:
            x = values[name].to_numpy()
            codes, others = codes_of(x, sure)
            for code in codes:
                rows = np.flatnonzero(x == code)
                found.append((rows, "code", name, text_of(code), others))
    return pd.DataFrame(found, columns=COLUMNS)


def _duplicates(table: TrainingTable, apart: list[object]) -> Iterator[Finding]:
    """Yield groups of equal rows; ``apart`` are the columns that are no features."""
    values = table.values.drop(columns=apart)
    if not values.shape[1]:
        return
    kinds = [table.kinds[name] for name in values]
    hashes = row_hashes(values.to_numpy())
    group = pd.factorize(hashes)[0]
    of_text = [j for j, kind in enumerate(kinds) if kind == "category"]
    copied = equal_beyond_chance(values.to_numpy(), of_text, group)
    names = table.frame[apart].reset_index(drop=True).astype(object)
    if table.frame.index.name not in (None, LINE):
        names[table.frame.index.name] = table.frame.index
    own = pd.util.hash_pandas_object(names.astype(str), index=False).to_numpy()
    one = pd.Series(pd.factorize(own ^ hashes)[0])
    is_known = names.notna().all(axis=1) & (names.shape[1] > 0)
    again = one.duplicated(keep=False) & is_known
    number = pd.Series(np.where(copied, group, -1 - one))[copied | again]
    for _, same in number.groupby(number, sort=False):
        rows = same.index.to_numpy()
        differ = [name for name in names if names[name].iloc[rows].nunique() > 1]
        but = f"all but {quoted(differ)}" if differ else "all columns"
        yield rows, "duplicate", "", f"{len(rows)} rows are equal in {but}", ""


def _misspelt(cells: pd.Series) -> Iterator[tuple[np.ndarray, str, str]]:
    """Yield the positions of rows with a misspelt word, the word, and what is right."""
    count = cells.value_counts()
    if not 1 < len(count) <= MOST_LEVELS:
        return
    words = [SIGNS.sub("", word).casefold() for word in count.index]
    if all(word.isdigit() for word in count.index):
        words = [word.lstrip("0") for word in words]
    n = count.to_numpy()
    frequent = np.flatnonzero(n >= TIMES)
    rare = np.flatnonzero(n * TIMES <= n.max())
    length = np.array([len(word) for word in words])
    letters = sorted(set("".join(words)))
    bags = np.array([[word.count(letter) for letter in letters] for word in words])
    apart = cdist(bags[rare], bags[frequent], "cityblock")
    longest = np.maximum.outer(length[rare], length[frequent])
    times = n[frequent] / n[rare][:, None]
    wrong = np.minimum(longest // LETTERS, 2)
    if len(n) - len(rare) <= FEW:
        is_rare = (n[rare] <= ONCE_OR_TWICE)[:, None] | (times >= MANY_TIMES)
        wrong += is_rare & (longest == LETTERS - 1)
        if len(frequent) > 1:  # of two letters each may be right
            wrong += (n[rare] <= ONCE_OR_TWICE)[:, None] & (longest == 1)
    may_be = (apart <= 2 * wrong) & (times >= TIMES)
    for i, near, most in zip(rare, may_be, wrong, strict=True):
        differ = {
            j: _differ(words[i], words[frequent[j]]) for j in np.flatnonzero(near)
        }
        least = min(differ.values(), default=0)
        right = [
            str(count.index[frequent[j]])
            for j, letters in differ.items()
            if letters == least <= most[j]
        ]
        if right:
            word = count.index[i]
            yield cells.index[cells == word].to_numpy(), word, ", ".join(right[:FEW])


def _differ(a: str, b: str) -> int:
    """Return how many letters of two words differ; more than all if digits do."""
    longest = max(len(a), len(b))
    if re.findall(r"\d|[-+]", a) != re.findall(r"\d|[-+]", b):
        return longest + 1
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return longest - sum(block.size for block in blocks)
