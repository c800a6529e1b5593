"""Leave-one-out of BSVDD in closed form against true refits without each row.

It leaves the other weights of a draw as they are, a refit gives them a new posterior, so the two
agree closely but not exactly. With priors.Flat() nothing but the row itself differs between them.
A prior of row sums is standardised over the rows and moves when one of them goes.
"""

import json

import numpy as np
import pytest

from bsvdd import BSVDD, cutoffs, kernels, priors
from tests.references import STORE
from tests.scores import upper_median

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
]

DRAWS = 8000  # of each of 2 chains: with 2,000 the noise of refits comes near to the bounds
N0, N1 = 24, 5
SETS = json.loads(STORE.read_text(encoding="utf-8"))["sets"]
FLAT, STANDARDIZED = (priors.Flat(), 0.99), (priors.StandardizedRowSum(), 0.95)


@pytest.mark.parametrize(("prior", "correlation"), [FLAT, STANDARDIZED])
@pytest.mark.parametrize("name", ["moons", "wine"])
def test_cutoff_is_that_of_refits(name, prior, correlation):
    majority, minority = (
        np.array(SETS[name]["majority"][:N0]),
        np.array(SETS[name]["minority"][:N1]),
    )
    kernel = kernels.RBF("modified_mean").resolve(majority)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [N0, N1])
    est = BSVDD(kernel=kernel, prior=prior, draws=DRAWS, tune=500).fit(X, y)
    d = upper_median(est.idata_["distance"]["d"].values.reshape(2 * DRAWS, N0 + N1))

    closed = est.idata_["decision"]["left_out"].values
    refitted = d.copy()  # minority rows are in no fit, so nothing of theirs changes
    for j in range(N0):
        keep = np.arange(N0) != j
        fold = BSVDD(kernel=kernel, prior=prior, draws=DRAWS, tune=500).fit(majority[keep])
        refitted[j] = at_full_norm(est, fold, majority[[j]])

    assert np.corrcoef(closed[:N0], refitted[:N0])[0, 1] > correlation
    for policy in (cutoffs.FalseAlarm(), cutoffs.Best("g_mean")):
        expected = -policy(-refitted, y == 1)
        assert est.with_cutoff(policy).cutoff_ == pytest.approx(expected, rel=0.02)
    expected, found, in_sample = (
        -cutoffs.FalseAlarm()(-distance, y == 1) for distance in (refitted, closed, d)
    )
    assert abs(found - expected) < abs(in_sample - expected) / 3  # what leaving out is for


def at_full_norm(est, fold, row):
    """Distance of a left-out row by a refit: its median d^2, less the refit's norm, plus est's.

    The norm is that of the median draw; a new row meets the norm of the fit to all rows.
    """
    norms = []
    for each in (est, fold):
        w = each.idata_["posterior"]["w"].values.reshape(-1, each.gram_.n_points)
        norms.append(upper_median(np.einsum("di,ij,dj->d", w, each.gram_.K, w)[:, None])[0])
    d2 = upper_median(fold.distance(row).values.reshape(-1, 1) ** 2)[0]
    return np.sqrt(d2 - norms[1] + norms[0])
