"""Tables with planted rows that break a relation, and tables without a relation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Planted = tuple[
    pd.DataFrame, dict[int, tuple[str, ...]]
]  # a table, and the columns of broken rows
PRICES = {"a": 2.0, "b": 5.0, "c": 9.0, "d": 14.0}
UNITS = {"a": "kg", "b": "litre", "c": "kg", "d": "piece"}
NET, UNIT, DATE = (
    ("net", "price", "pieces"),
    ("unit", "product"),
    ("delivered", "ordered"),
)


def orders(seed: int, n: int = 400, broken: int = 1) -> Planted:
    """Return orders with four relations, three of which some rows break each."""
    rng = np.random.default_rng(seed)
    product = rng.choice(list(PRICES), n, p=[0.4, 0.3, 0.2, 0.1])
    price = np.round(
        [PRICES[p] for p in product] * np.exp(0.05 * rng.normal(size=n)), 2
    )
    unit = np.array([UNITS[p] for p in product], dtype=object)
    pieces, ordered = 1.0 + rng.poisson(9, n), rng.integers(0, 365, n)
    net, delivered = (pieces * price).round(2), ordered + rng.poisson(6, n)
    a, b, c = rng.choice(n, 3 * broken, replace=False).reshape(3, broken)
    net[a] = (1.6 * net[a]).round(2)
    unit[b] = np.where(unit[b] == "kg", "litre", "kg")
    delivered[c] = ordered[c] - 20
    table = {
        "product": product,
        "unit": unit,
        "pieces": pieces,
        "price": price,
        "net": net,
    }
    dates = {"ordered": ordered, "delivered": delivered}
    table |= {
        k: pd.Timestamp("2024-01-01") + pd.to_timedelta(v, "D")
        for k, v in dates.items()
    }
    table["height"] = rng.normal(size=n)
    found = dict.fromkeys(a, NET) | dict.fromkeys(b, UNIT) | dict.fromkeys(c, DATE)
    return pd.DataFrame(table), found


def several(seed: int) -> Planted:
    """Return orders, of which 36 of 400 break a relation."""
    return orders(seed, broken=12)


def gaps(seed: int) -> Planted:
    """Return orders without .15 of the cells of five columns, but of no broken row."""
    table, broken = orders(seed)
    gap = np.random.default_rng(seed + 100).random(table.shape) < 0.15
    gap[list(broken)] = False
    gap[:, table.columns.get_indexer(["price", "ordered", "height"])] = False
    return table.mask(gap), broken


def supplies(seed: int, n: int = 600) -> Planted:
    """Return orders of four suppliers with a unit each, with skewed numbers."""
    rng = np.random.default_rng(seed)
    pieces, price = rng.integers(1, 50, n), rng.gamma(3, 8, n).round(2)
    net, supplier = (pieces * price).round(2), rng.integers(0, 4, n)
    unit, ordered = supplier.copy(), rng.integers(0, 300, n)
    delivered = ordered + rng.integers(2, 9, n)
    a, b, c = rng.choice(n, 3, replace=False)
    net[a], unit[b], delivered[c] = (
        (1.3 * net[a]).round(2),
        (unit[b] + 1) % 4,
        ordered[c] - 20,
    )
    numbers = {"pieces": pieces, "price": price, "net": net, "ordered": ordered}
    texts = {
        "product": np.array(["Kaeser", "Atlas", "Bosch", "Sick"])[supplier],
        "unit": np.array(["m3", "pcs", "box", "kg"])[unit],
    }
    table = {
        **numbers,
        "delivered": delivered,
        **texts,
        "weight": rng.gamma(9, 1, n).round(1),
    }
    return pd.DataFrame(table), {a: NET, b: UNIT, c: DATE}


def categories(seed: int, n: int = 600) -> Planted:
    """Return five groups of three columns of categories that follow from each other."""
    rng, table, broken = np.random.default_rng(seed), {}, {}
    for row, group in zip(rng.choice(n, 5, replace=False), range(5), strict=True):
        a = rng.integers(0, 4, n)
        b, c = rng.permutation(4)[a], rng.permutation([0, 1, 2, rng.integers(3)])[a]
        b[row] = (b[row] + rng.integers(1, 4)) % 4
        names = tuple(f"{letter}{group}" for letter in "abc")
        table |= {
            k: np.char.add(k, v.astype(str))
            for k, v in zip(names, (a, b, c), strict=True)
        }
        broken[row] = names
    return pd.DataFrame(table), broken


def cities(seed: int, n: int = 600, m: int = 80) -> Planted:
    """Return 80 cities, their countries, whose taxes differ, and a tax."""
    rng, share = np.random.default_rng(seed), 1.0 / np.arange(1, m + 1)
    city = rng.choice(m, n, p=share / share.sum())
    country = rng.integers(0, 5, m)[city]
    net = rng.gamma(2, 50, n).round(2) + 1.0
    vat = (net * np.array([0.17, 0.19, 0.21, 0.23, 0.25])[country]).round(2)
    i, j = rng.choice(
        np.flatnonzero(np.bincount(city, minlength=m)[city] >= 8), 2, replace=False
    )
    country[i], vat[j] = (country[i] + rng.integers(1, 5)) % 5, 1.5 * vat[j]
    table = {
        "city": np.char.add("city ", city.astype(str)),
        "country": np.array(list("DFIEP")),
    }
    table["country"] = table["country"][country]
    found = pd.DataFrame(
        {**table, "age": rng.normal(40, 9, n).round(), "net": net, "vat": vat}
    )
    columns = ("net", "vat", "city", "country")
    return found, dict.fromkeys((i, j), columns)


def equal(seed: int, n: int = 400) -> Planted:
    """Return a net price and its tax, one of which is wrong; either is named."""
    rng = np.random.default_rng(seed)
    net, row = rng.gamma(2, 50, n).round(2) + 1.0, rng.integers(n)
    vat = (0.19 * net).round(2)
    vat[row] *= 1.5
    kind = rng.choice(list("uvw"), n)
    table = {"weight": rng.normal(70, 9, n), "net": net, "vat": vat, "kind": kind}
    return pd.DataFrame(table), {row: ("net", "vat")}


def squares(seed: int, wrong: int = 1) -> Planted:
    """Return two categories of which both are needed to know a third, and noise."""
    rng = np.random.default_rng(seed)
    a, b = np.divmod(np.arange(135) % 9, 3)
    rows = rng.choice(135, wrong, replace=False)
    c = (a + b + np.isin(np.arange(135), rows)) % 3
    texts = {
        k: np.array(list(v))[x]
        for k, v, x in (("a", "pqr", a), ("b", "uvw", b), ("c", "xyz", c))
    }
    table = pd.DataFrame({**texts, "noise": rng.gamma(1.0, 1.0, 135)})
    return table, dict.fromkeys(rows, ("a", "b", "c"))


def sizes(seed: int, n: int = 500) -> Planted:
    """Return a length, an ordered size and a code by its thresholds, and noise."""
    rng, cuts = np.random.default_rng(seed), np.array([120.0, 180.0, 240.0])
    length = rng.gamma(9, 20, n).round(1)
    size = np.digitize(length, cuts)
    code = np.array([3, 6, 2, 5])[size]
    inside = np.flatnonzero(np.abs(length[:, None] - cuts).min(axis=1) > 25.0)
    i, j = rng.choice(inside, 2, replace=False)
    size[i], code[j] = (size[i] + 2) % 4, np.array([2, 5, 3, 6])[size[j]]
    levels = pd.Categorical.from_codes(size, list("SMLX"), ordered=True)
    table = {
        "length": length,
        "size": levels,
        "code": code,
        "noise": rng.normal(size=n),
    }
    return pd.DataFrame(table), dict.fromkeys((i, j), ("size", "code", "length"))


def independent(seed: int, n: int = 400) -> Planted:
    """Return numbers, counts, a rare flag and categories without any relation."""
    rng = np.random.default_rng(seed)
    numbers = {
        "a": rng.normal(size=n),
        "b": rng.gamma(1, 1, n),
        "c": rng.lognormal(size=n),
    }
    numbers |= {
        "d": rng.poisson(5, n),
        "e": rng.standard_t(2, n),
        "flag": rng.random(n) < 0.05,
    }
    shares = {"k": [0.3, 0.3, 0.4], "l": [0.9, 0.05, 0.03, 0.02], "m": [0.98, 0.02]}
    texts = {k: rng.choice(list("uvwx")[: len(p)], n, p=p) for k, p in shares.items()}
    return pd.DataFrame(numbers | texts), {}


KINDS: dict[str, Callable[[int], Planted]] = {
    "orders": orders,
    "orders, 36 of 400 broken": several,
    "orders with gaps": gaps,
    "skewed orders": supplies,
    "15 columns of categories": categories,
    "80 cities": cities,
    "equal columns": equal,
    "a pair tells a third": squares,
    "sizes and codes": sizes,
    "no relation": independent,
}
