"""Each fact of a fit against another computation, and the words that read them."""

import json
import re
import warnings
from html.parser import HTMLParser

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, cutoffs, kernels, priors
from bsvdd.estimators.facts import Share
from tests.cases import warned
from tests.models.helpers import left_out

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
RNG = np.random.default_rng(90)
ROWS = np.concatenate([RNG.normal(size=(20, 2)), RNG.normal(2.0, 1.0, size=(5, 2))])
Y = np.repeat([0, 1], [20, 5])
QUICK = dict(draws=250, kernel=kernels.RBF(1.2), random_state=1)
MODELS = {
    "BDD": BDD(prior=priors.Flat(sd=0.1), **QUICK),
    "BSVDD": BSVDD(prior=priors.Flat(sd=1.5), **QUICK),
    "linear": BSVDD(prior=priors.Flat(sd=0.5), **QUICK | {"kernel": kernels.Linear()}),
    "groups": BSVDD(dictionary=8, **QUICK),
    "BDD-M": BDDM(**QUICK),
    "BSVDD-M": BSVDDM(minority_prior=priors.Beta(2, 2), **QUICK),
}
GROUPS = ("posterior", "prior")
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module", params=MODELS)
def est(request):
    return MODELS[request.param].fit(ROWS, Y)


def test_what_the_posterior_is_worth_is_that_of_its_definition(est):
    found, idata, m = bsvdd.facts(est), est.idata_, est.gram_.m
    near, of_row = idata["posterior"]["near"].values, est.gram_.of_row[:20]
    w, of_prior = (idata[g]["w"].values.reshape(-1, len(est.gram_.K)) for g in GROUPS)
    K, rows, known = est.kernel_(ROWS[:20], ROWS[:20]), np.arange(20), []
    assert set(of_row) == set(range(m))
    for group, each in zip(GROUPS, (w, of_prior), strict=True):
        of_rows = (each / est.gram_.sizes)[:, of_row]
        s = left_out(of_rows, K, rows)[:, near]
        np.testing.assert_allclose(idata[group]["s"].values.reshape(-1, len(near)), s)
        if each[:, :m].min() < 0.0:  # free weights may sum to nothing without one
            s = left_out(of_rows, K, rows, 0.1)[:, near]
        known.append(s)
    s, before = known
    ratio = np.median(np.nanvar(s, axis=0) / np.nanvar(before, axis=0))
    total, spread, pull = np.median(w[:, :m].sum(axis=1)), [], []
    for i, row in enumerate(near):
        k = np.delete(K[row], row)
        spread.append(np.nanstd(s[:, i]) / (total * k.std(ddof=1) / np.sqrt(20)))
        pull.append((np.nanmean(s[:, i]) - total * k.mean()) / np.nanstd(s[:, i]))
    expected = {
        "variance_ratio": ratio,
        "spread": np.median(spread),
        "pull": np.median(pull),
    }
    posterior = vars(found.posterior)
    assert {k: posterior[k] for k in expected} == pytest.approx(expected, rel=1e-9)


def test_quantities_are_those_of_the_draws(est):
    found, table, idata, K = bsvdd.facts(est), est.summary(), est.idata_, est.gram_.K
    sizes, d = est.gram_.sizes, idata["distance"]["d"].values[..., :20]
    for group in GROUPS:
        w = idata[group]["w"].values
        expected = {
            "effective_support": np.abs(w).sum(-1) ** 2 / (w**2 / sizes).sum(-1),
            "largest_weight": np.abs(w / sizes).max(-1),
            "squared_norm": np.einsum("cdi,ij,cdj->cd", w, K, w),
        }
        if est.gram_.n1:
            expected["minority_total"] = -w[..., 20:].sum(-1)
        if group == "posterior":
            expected["typical_distance"] = np.median(d, axis=-1)
        for quantity, draws in expected.items():
            np.testing.assert_allclose(idata[group][quantity], draws)
            low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95])
            of = found.posterior.quantities[quantity]
            assert of[group] == pytest.approx(middle) == table.loc[quantity, group]
            if group == "posterior":
                assert (of["low"], of["high"]) == pytest.approx((low, high))
    support = found.posterior.quantities["effective_support"]["posterior"]
    assert found.effective_support == support
    numbers = table.index[table["low"].isna()]
    assert [*numbers] == ["variance_ratio", "spread", "pull", "r_hat", "ess"]
    assert table["posterior"][numbers].tolist() == [
        getattr(found.posterior, name) for name in numbers
    ]
    assert len(az.summary(idata, var_names=[*expected])) == len(expected)


@pytest.mark.parametrize("sampler", ["exact", "hmc", "own"])
def test_convergence_is_that_of_arviz(sampler):
    est = (BDD if sampler == "exact" else BSVDD)(kernel=kernels.RBF(1.0)).fit(ROWS[:20])
    if sampler == "own":
        w = est.idata_["posterior"]["w"].values[:2, ::25] + 0.0
        w[1] = 0.7 * w[1] + 0.3 / 20  # chains that disagree
        w = 0.1 * w + 0.9 * (np.arange(20) == 7)  # and rest on one row
        divergent = xr.Dataset(
            {"diverging": (("chain", "draw"), np.arange(40).reshape(2, 20) < 3)}
        )
        of_w = xr.Dataset({"w": (("chain", "draw", "point"), w)})
        with pytest.warns(UserWarning) as said:
            tree = xr.DataTree.from_dict({"posterior": of_w, "sample_stats": divergent})
            est = est.with_draws(tree)
        reasons = bsvdd.facts(est).warnings
        assert reasons == [str(each.message) for each in said]
        words = ["R-hat of s_z is", "the chains disagree", "effective sample size"]
        for part in [*words, "3 divergent tr", "collapsed"]:
            assert any(part in text for text in reasons), part
    found = bsvdd.facts(est).posterior
    w = est.idata_["posterior"]["w"].values
    s = xr.Dataset({"s": (("chain", "draw", "row"), w @ est.gram_.K)})
    r_hat, ess = float(az.rhat(s)["s"].max()), float(az.ess(s)["s"].min())
    assert found.r_hat == pytest.approx(r_hat, rel=1e-8)
    assert found.ess == pytest.approx(ess, rel=1e-6)
    assert (found.sampler, found.chains) == (sampler, 2 if sampler == "own" else 4)
    assert found.divergences == {"own": 3, "hmc": 0, "exact": None}[sampler]
    assert f"R-hat of s is at most {found.r_hat:.3f}" in " ".join(str(est).split())


ALIKE = dict(kernel=kernels.RBF(1.2), draws=250)
NARROW = np.random.default_rng(5).normal(size=(60, 3))
MANY = (
    np.random.default_rng(1).normal(size=(350, 3))
    + 3.0 * (np.arange(350) >= 200)[:, None]
)
INSIDE = np.concatenate([ROWS[:20] * 2, 0.1 * ROWS[20:]])
WARNINGS = [  # a fit, its rows and labels, its warning, and what to do
    (
        BSVDD(draws=5, tune=5),
        ROWS[:20],
        None,
        "5 draw(s) per chain are too few",
        "draws=500",
    ),
    (
        BSVDD(kernel=kernels.RBF(0.2), prior=priors.Flat(sd=0.5), likelihood_scale=1.0),
        *(NARROW, None, "the posterior is its prior", "likelihood_scale='calibrated'"),
    ),
    (
        BSVDD(kernel=kernels.RBF(0.02), prior=priors.Flat(sd=0.5), likelihood_scale=1),
        *(
            NARROW,
            None,
            "the posterior is its prior",
            "a kernel with a larger bandwidth",
        ),
    ),
    (
        BSVDD(kernel=kernels.RBF(1.0), prior=priors.Flat(sd=0.01)),
        *(NARROW, None, "the posterior is its prior", "a prior with a larger sd"),
    ),
    (
        BDD(prior=priors.EqualWeights(sd=0.5), likelihood_scale=0.01),
        *(NARROW, None, "the posterior is its prior", "likelihood_scale='calibrated'"),
    ),
    (BDDM(), MANY, np.arange(350) >= 200, "too narrow", "a smaller likelihood_scale"),
    (
        BDD(**ALIKE, cutoff=cutoffs.Best()),
        *(INSIDE, Y, "no minority row is among the oddest", "such as BSVDDM"),
    ),
    (
        BSVDD(prior=priors.StandardizedRowSum(sd=9), likelihood_scale=0.01, draws=100),
        *(ROWS[:20], None, "like the prior weights", "use a smaller sd of the prior"),
    ),
]


@pytest.mark.parametrize(
    ("est", "X", "y", "warning", "remedy"), WARNINGS, ids=range(len(WARNINGS))
)
def test_a_fit_prints_its_warnings(est, X, y, warning, remedy):
    _, lines = warned(est.set_params(random_state=0).fit, X, y)
    found, text = bsvdd.facts(est), " ".join(str(est).split())
    said = [each for each in found.warnings if warning in each and remedy in each]
    assert len(said) == 1
    assert set(found.warnings) <= set(lines)
    assert all(" ".join(each.split()) in text for each in found.warnings)


@pytest.fixture(scope="module")
def amid():
    """Return 150 majority rows and 25 minority rows amid them, and the labels."""
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(150, 2)), 0.15 * rng.normal(size=(25, 2))])
    return X, np.arange(175) >= 150


def test_minority_rows_amid_the_majority(amid):
    """The posterior has several modes; a bound finds the minority, and is advised once.

    Nobody is advised to take what the fit has already.
    """
    X, y = amid
    new = 0.15 * np.random.default_rng(3).normal(size=(500, 2))
    BOUND = "minority_prior=priors.Beta(total=1)"
    published, lines = warned(BSVDDM(draws=120).fit, X, y)
    assert published.fit_.convergence[0] > 1.1
    text = next(line for line in lines if "R-hat" in line)
    assert "several modes" in text and text.endswith(BOUND)
    ess = next(line for line in lines if "effective sample size" in line)
    assert "and 400 are needed, 100 for each of 4 chains" in ess
    assert all(BOUND in line for line in lines if "too narrow" in line)
    found = published.predict(new) == -1
    bounded, lines = warned(
        BSVDDM(draws=120, minority_prior=priors.Beta(total=1)).fit, X, y
    )
    assert not any(BOUND in line for line in lines)
    assert (bounded.predict(new) == -1).mean() > 0.9 > 0.8 > found.mean()


def test_no_one_is_advised_to_take_the_model_that_was_fitted(amid):
    X, y = amid
    est = BSVDDM(kernel=kernels.RBF(9.0), minority_prior=priors.Beta(total=1))
    _, lines = warned(est.set_params(draws=60, cutoff=cutoffs.Best()).fit, X, y)
    (text,) = [line for line in lines if "no minority row is among" in line]
    assert text.endswith("tells the classes apart; use another kernel")


@pytest.mark.parametrize(
    ("est", "least", "most", "said"),
    [
        (BSVDD(), 0.8, 1.25, "about as wide as they should be"),
        (BSVDD(likelihood_scale=300.0), 0.0, 0.8, "its intervals are too narrow"),
        (BSVDD(likelihood_scale=1.0), 1.25, 9.0, "its intervals are too wide"),
        (BDD(simplex=True), 1.0, 1.0, "none: one estimate of the weights"),
        (SVDD(), 1.0, 1.0, "none: one estimate of the weights"),
    ],
    ids=range(5),
)
def test_the_print_says_how_wide_the_intervals_are(est, least, most, said):
    found = bsvdd.facts(est.fit(NARROW))
    assert found.warnings == [] and "warning" not in str(est)
    assert least <= getattr(found.posterior, "spread", 1.0) <= most
    assert said in " ".join(str(est).split())


@pytest.mark.parametrize(("count", "n"), [(2, 12), (0, 5), (5, 5), (60, 300)])
def test_the_interval_of_a_share_is_that_of_jeffreys(count, n):
    """By quadrature of x^(count - 1/2) (1 - x)^(n - count - 1/2), in x = sin(t)^2."""
    t = (np.arange(200_000) + 0.5) / 200_000 * np.pi / 2
    density = np.sin(t) ** (2 * count) * np.cos(t) ** (2 * (n - count))
    x = (
        np.sin(t[np.searchsorted(np.cumsum(density) / density.sum(), [0.05, 0.95])])
        ** 2
    )
    of = Share.of(np.arange(n) < count, np.ones(n), np.arange(n))
    expected = x[0] if count else 0.0, x[1] if count < n else 1.0
    assert (of.low, of.high) == pytest.approx(expected, abs=1e-4)


def test_the_interval_of_a_share_counts_groups():
    """It holds the share of new groups; rows alone would make it too narrow."""
    rng, held, narrow = np.random.default_rng(0), 0, 0
    group = np.repeat(np.arange(25), 8)
    for _ in range(300):
        flagged = rng.uniform(size=200) < rng.beta(0.5, 4.5, size=25)[group]
        of = Share.of(flagged, np.ones(200), group)
        alone = Share.of(flagged, np.ones(200), np.arange(200))
        held += of.low <= 0.1 <= of.high
        narrow += alone.low <= 0.1 <= alone.high
    assert 0.85 < held / 300 < 0.95 and narrow / 300 < 0.75
    whole = Share.of(group < 5, np.ones(200), group)  # groups are all or nothing
    few = Share.of(np.arange(25) < 5, np.ones(25), np.arange(25))
    assert (whole.low, whole.high) == pytest.approx((few.low, few.high), abs=0.03)


FRAME = pd.DataFrame(NARROW, columns=["a", EVIL, "c"]).assign(kind=["u", "v", "w"] * 20)
FRAME.loc[3:6, "c"], FRAME.loc[9, "kind"], FRAME.loc[0, "a"] = np.nan, None, 9.0
FRAME.index = [f"id {i}" for i in range(59)] + ["<i>last</i>"]
RULE = cutoffs.Printed(cutoffs.FalseAlarm(0.05))
RBF = kernels.RBF(1.5)
SAID = {  # a fit, its rows and labels, facts, and parts of the paragraph
    "labels": (
        BSVDDM(**QUICK, cutoff=cutoffs.Best()),
        *(ROWS, Y, {"rows": 25, "minority": 5, "atoms": 25, "likelihood_scale": 1.0}),
        [
            "20 normal and 5 abnormal rows",
            "was given",
            "is 1, as published",
            "best value of the G",
        ],
    ),
    "tuned": (
        SVDD(kernel=kernels.Tabular(RBF, scale="standardised")),
        *(
            ROWS,
            Y,
            {"learns_from_minority": False, "kernel_columns": "standardised columns"},
        ),
        ["5 abnormal rows had no part", "on standardised columns"],
    ),
    "frame": (
        BSVDD(draws=300, prior=priors.Flat(sd=1.2)),
        *(
            FRAME,
            None,
            {
                "missing": {"c": 4, "kind": 1},
                "rows_with_missing": 5,
                "calibrated": True,
            },
        ),
        [
            "chosen by the left-out likelihood",
            "the prior Flat(sd=1.2)",
            "calibrated",
            "'c' (4)",
        ],
    ),
    "one table": (
        *(BSVDD(draws=300), FRAME, "one table", {"one_table": True}),
        [
            "each counts with one minus its P(odd)",
            "generalised Pareto",
            "an eighth of the median",
        ],
    ),
    "printed": (
        BDD(kernel=RBF, likelihood_scale=3.0, cutoff=RULE),
        *(
            ROWS[:20],
            None,
            {
                "uncertain": ["the weights of the centre"],
                "bandwidth": 1.5,
                "likelihood_scale": 3.0,
            },
        ),
        ["is 3, a number that we chose", "false-alarm rate of 0.05", "is at most "],
    ),
    "matrix": (
        *(SVDD(kernel=kernels.Precomputed()), RBF(ROWS, ROWS), Y, {"columns": {}}),
        ["by the kernel Precomputed"],
    ),
}


@pytest.fixture(scope="module", params=SAID)
def told(request):
    est, X, y, facts, parts = SAID[request.param]
    with warnings.catch_warnings(action="ignore"):
        est.fit_predict(X) if isinstance(y, str) else est.fit(X, y)
    return est, X, facts, parts


def test_facts_are_those_of_the_fit(told):
    est, X, expected, _ = told
    found = bsvdd.facts(est)
    as_dict = found.as_dict()
    assert json.loads(json.dumps(as_dict)) == as_dict
    assert {name: as_dict[name] for name in expected} == expected
    normal, minority = est.decision()["normal"].to_numpy(), est.fit_.rows.minority
    assert found.minority == minority.sum() and found.rows == len(X)
    for name, of in {"majority": ~minority, "minority": minority}.items():
        if of.any() and not found.one_table:
            beyond = found.beyond[name]
            assert (beyond.rows, beyond.count) == (of.sum(), (~normal[of]).sum())
            of_class = f"{name} " * bool(minority.any())
            said = f"{beyond.count} of {beyond.rows} {of_class}rows"
            assert said in " ".join(str(est).split())
    if isinstance(X, pd.DataFrame):
        assert found.columns == dict.fromkeys(["a", EVIL, "c"], "numbers") | {
            "kind": "category"
        }
    assert found.cutoff == est.cutoff_
    assert max(map(len, str(est).splitlines())) <= 100


def test_the_paragraph_cites_each_reference_in_order(told):
    est, _, _, parts = told
    text, references = bsvdd.methods(est).split("\n\n")
    cited = list(dict.fromkeys(re.findall(r"\[\d+\]", text)))
    assert cited == [line.split()[0] for line in references.splitlines()]
    assert all(part in text for part in parts), text
    assert not re.search("nan|None", text.replace("diagonal=None", ""))
    assert bsvdd.facts(est).reference in references


class Page(HTMLParser):
    """Tags, sources and texts of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.sources, self.text = [], [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [v for k, v in attrs if k in ("src", "href")]

    def handle_data(self, data):
        self.text += data


@pytest.mark.filterwarnings(
    "ignore:.* rows have missing values"
)  # those of the core are said anew
def test_the_page_needs_nothing_else_and_escapes_what_the_user_wrote(told, tmp_path):
    est, X, _, parts = told
    opened = plt.get_fignums()
    page, found = Page(bsvdd.report(est, tmp_path / "model.html")), bsvdd.facts(est)
    assert plt.get_fignums() == opened
    assert "script" not in page.tags and "link" not in page.tags
    assert page.sources and all(
        s.startswith("data:image/png;base64,") for s in page.sources
    )
    decided = est.decision().sort_values("surprise", ascending=False)
    for said in (found.sha256, found.call, *map(str, decided.index[:10]), *parts):
        assert said in page.text, said
    if isinstance(X, pd.DataFrame):
        assert EVIL in page.text  # as text
        assert "a = 9" in page.text  # the reason of the oddest row
    assert ("There are no reasons" in page.text) == (not found.columns)


def test_new_rows_with_labels_are_reported(tmp_path):
    est = SVDD(kernel=RBF).fit(ROWS, Y)
    X = pd.DataFrame(ROWS[15:] + 0.1, index=[f"new {i}" for i in range(10)])
    found = est.decision(X)
    page = Page(bsvdd.report(est, tmp_path / "a.html", X, Y[15:]))
    normal = found["normal"].sum()
    said = f"10 new rows: {normal} normal, {10 - normal} abnormal"
    first = found["surprise"].idxmax()
    assert f"What makes row {first} odd." in page.text
    assert said in page.text and "positive means minority" in page.text.lower()
    without = Page(bsvdd.report(est, tmp_path / "b.html", X))
    assert "positive means minority" not in without.text.lower()


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
@pytest.mark.parametrize(
    ("est", "uncertain"),
    [
        (
            BDD(simplex=True),
            "the centre, the cutoff, rows that the sample has not shown",
        ),
        (bsvdd.as_published("BDD"), ""),
        (SVDD(), "the centre, the cutoff, rows that the sample has not shown"),
        (SVDD(cutoff=cutoffs.Printed(of="own")), ""),
        (
            BDD(kernel=kernels.Linear(), draws=50),
            "the weights of the centre, the cutoff",
        ),
    ],
)
def test_pages_and_paragraphs_say_what_is_uncertain(est, uncertain, tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    est.fit(rows)
    page = bsvdd.report(est, tmp_path / "a.html").read_text(encoding="utf-8")
    told = f"What is uncertain: {uncertain}." if uncertain else "Nothing is uncertain"
    assert told in " ".join(page.split())
    said = bsvdd.methods(est)
    parts = bsvdd.facts(est).uncertain
    assert ", ".join(parts) == uncertain
    assert (f"uncertain: {uncertain}." in said) == ("the cutoff" in parts)
    assert ("the centre" in parts) == (est.fit_.boundary.centre is not None)
    assert ("prior and weight λ" in page) == bool(bsvdd.facts(est).posterior)
    if isinstance(est, BDD) and not bsvdd.facts(est).posterior:
        assert "of their posterior the mode among positive weights" in said
        assert f"λ of the likelihood is {est.likelihood_scale_:.4g}" in said


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
def test_paragraphs_have_weights_and_the_kernel_that_was_used():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3))
    rows[:, 1] += rows[:, 0]
    weight = rng.uniform(0.1, 3.0, 80)
    est = BSVDD(draws=50, tune=60).fit(rows, sample_weight=weight)
    effect = weight.sum() ** 2 / (weight**2).sum()
    assert f"by which they are {effect:.0f} rows in effect" in bsvdd.methods(est)
    one = SVDD()
    one.fit_predict(rows)
    assert "decorrelated by the core" in bsvdd.methods(one)
    matrix = SVDD(kernel=kernels.Precomputed()).fit(np.eye(9) + 1.0)
    assert "from 9 normal rows with bsvdd" in bsvdd.methods(matrix)
    some = np.repeat([1.0, 0.0], [12, 68])
    est = BSVDD(draws=50, tune=60).fit(rows, sample_weight=some)
    assert "effective rows of 12" in " ".join(str(est).split())
