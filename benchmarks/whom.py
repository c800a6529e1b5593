"""Normal for whom: rows of known groups, by one centre and by own centres."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from bsvdd import BSVDD

from .measure import Rows, Run, texts

TABLES = 10
GROUPS = 40
NEW = 10  # rows of each group
UNEVEN = (1, 1, 2, 2, 3, 4, 6, 10, 20)  # rows known
SHIFT = 3.0  # sd within groups, of two columns
LATER = 40  # rows of each group by which the certain answer is given
FEWEST = 40  # rows in a tenth of P(normal)
ANY = "two categories, any of them"  # odd rows have any category, not the rarest
ALONE = "normal, no groups"  # as many rows of one population, to compare with
SURE = (
    *((kind, n) for kind in ("normal", ALONE) for n in (2, 8, 20)),
    *((kind, n) for kind in ("two categories", ANY) for n in (2, 8)),
)
CASES = (  # kind of rows, sd between groups over that within, rows of each
    *(("normal", 3.0, n) for n in (2, 4, 8, 20)),
    ("normal", 0.0, 8),
    ("Student's t, 3 df", 3.0, 8),
    ("own scales", 3.0, 8),
    *(("two categories", 3.0, n) for n in (2, 8)),
)


class Groups:
    """Rows of 40 groups in four columns: training rows, new ones, and shifted ones."""

    def __init__(self, kind: str, ratio: float, visits: int, seed: int) -> None:
        of_kind = kind.removesuffix(ANY.removeprefix("two categories"))
        self.rng = rng = np.random.default_rng([seed, visits, CASES_OF[of_kind]])
        self.kind = of_kind
        A = np.eye(4) + 0.3 * rng.normal(size=(4, 4))
        self.within = 1.0 / ratio if ratio else 1.0
        self.centre = (self.noise(GROUPS) if ratio else np.zeros((GROUPS, 4))) @ A
        self.scale = np.ones(GROUPS)
        if kind == "own scales":
            self.scale = np.exp(0.5 * rng.normal(size=GROUPS))
        self.p = rng.dirichlet(np.full(5, 0.3), size=(GROUPS, 2))
        known = rng.choice(UNEVEN, GROUPS) if visits == 0 else np.full(GROUPS, visits)
        self.known = known
        self.rows = self.drawn(np.repeat(np.arange(GROUPS), known))
        of_new = np.repeat(np.arange(GROUPS), NEW)
        self.new = self.drawn(of_new)
        self.shifted = self.drawn(of_new)
        shift = SHIFT * self.within * np.array([1.0, -1.0, 0.0, 0.0])
        turned = np.where(rng.random(len(of_new))[:, None] < 0.5, shift, shift[::-1])
        if of_kind == "two categories":  # one number is shifted, one category rare
            turned = [SHIFT * self.within, 0.0]
            rarest = self.p[of_new, 0].argmin(axis=1)
            level = rng.integers(5, size=len(of_new)) if kind == ANY else rarest
            self.shifted["c2"] = level.astype(str)
        turned = turned * self.scale[of_new, None]
        numbers = self.shifted.select_dtypes(float).columns
        self.shifted[numbers] += turned[:, : len(numbers)]

    def noise(self, n: int) -> np.ndarray:
        """Return standard noise (n, 4)."""
        if self.kind.startswith("Student"):
            return self.rng.standard_t(3, size=(n, 4))
        return self.rng.normal(size=(n, 4))

    def drawn(self, of: np.ndarray) -> pd.DataFrame:
        """Return a row for each group of ``of``."""
        x = self.centre[of] + self.within * self.scale[of][:, None] * self.noise(
            len(of)
        )
        X = pd.DataFrame(x, columns=[f"x{j}" for j in range(4)])
        if self.kind == "two categories":
            X = X[["x0", "x1"]]
            for j in range(2):
                drawn = [self.rng.choice(5, p=self.p[g, j]) for g in of]
                X = X.assign(**{f"c{j + 2}": np.array(drawn).astype(str)})
        return X.assign(group=of.astype(str))


CASES_OF = {
    kind: place for place, kind in enumerate(dict.fromkeys(k for k, *_ in CASES))
}


def of_case(kind: str, ratio: float, visits: int, seed: int) -> Rows:
    """Return what is flagged of usual and of shifted rows, by both ways."""
    data = Groups(kind, ratio, visits, seed)
    row = {"rows": kind, "between / within": ratio, "known": visits}
    for name, own in (("groups=", False), ("own centres", True)):
        est = BSVDD(group_centres=own).fit(data.rows, groups="group")
        for what, Z in (("flagged", data.new), ("found", data.shifted)):
            asked = {"groups": "group"} if own else {}
            Z = Z if own else Z.drop(columns="group")
            flagged = est.predict(Z, **asked) == -1
            row[f"{what}, {name}"] = float(flagged.mean())
    return [row]


def of_known(kind: str, seed: int) -> Rows:
    """Return what is flagged of usual rows, by how many rows of a group are known."""
    data = Groups(kind, 3.0, 0, seed)
    est = BSVDD(group_centres=True).fit(data.rows, groups="group")
    flagged = est.predict(data.new, groups="group") == -1
    known = np.repeat(data.known, NEW)
    return [
        {"rows": kind, "known": int(n), "flagged": float(flagged[known == n].mean())}
        for n in np.unique(known)
    ]


def of_surety(kind: str, known: int, seed: int) -> Rows:
    """Return P(normal), and the decision and surprise by 40 other rows of a group."""
    own = kind != ALONE
    data = Groups(kind.removesuffix(", no groups"), 3.0 * own, known, seed)
    later = data.drawn(np.repeat(np.arange(GROUPS), LATER))
    Z = pd.concat([data.new, data.shifted])
    asked = {"groups": "group"} if own else {}
    few, sure = (
        BSVDD(group_centres=own)
        .fit(rows if own else rows.drop(columns="group"), **asked)
        .decision(Z if own else Z.drop(columns="group"), **asked)
        .reset_index(drop=True)
        for rows in (data.rows, later)
    )
    found = pd.DataFrame(
        {
            "rows": kind,
            "known": known,
            "P": few["probability_normal"],
            "normal": sure["normal"],
            "held": sure["surprise"].between(few["low"], few["high"]),
            "usual": np.arange(len(Z)) < len(data.new),
        }
    )
    return found.to_dict("records")


def surety(rows: pd.DataFrame) -> pd.Series:
    """Return the largest gaps of P(normal), and what the intervals hold.

    The weight of the shifted rows makes them a third, or half, of the rows asked.
    """
    tenth = (rows["P"] * 10).astype(int).clip(upper=9)
    off = rows["P"] - rows["normal"]
    found = {}
    for title, share in (("a third", 1.0 / 3.0), ("half", 0.5)):
        weight = pd.Series(np.where(rows["usual"], 1.0 - share, share), rows.index)
        sums = (
            pd.DataFrame({"off": weight * off, "weight": weight}).groupby(tenth).sum()
        )
        gap = (sums["off"] / sums["weight"]).abs()
        found[f"largest gap, {title} shifted"] = gap[
            tenth.value_counts() >= FEWEST
        ].max()
    held = rows["held"]
    usual = held[rows["usual"]].mean()
    return pd.Series({**found, "usual held": usual, "all held": held.mean()})


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return what is flagged and found, and the rate by rows known."""
    cells = [(*case, seed) for case, seed in product(CASES, range(TABLES))]
    frame = run.cells(of_case, cells)
    index = ["rows", "between / within", "known"]
    found = frame.groupby(index, sort=False).mean().reset_index().set_index("rows")
    by_known = run.cells(of_known, product(CASES_OF, range(TABLES)))
    by_known = by_known.pivot_table("flagged", "rows", "known", sort=False)
    by_known = by_known.sort_index(axis=1)
    by_known.columns = [f"{n} known" for n in by_known.columns]
    sure = run.cells(
        of_surety, [(*c, seed) for c, seed in product(SURE, range(TABLES))]
    )
    sure = sure.groupby(["rows", "known"], sort=False).apply(surety)
    return {
        "found": texts(found),
        "rate by rows known": texts(by_known),
        "P(normal)": texts(sure.reset_index().set_index("rows")),
    }
