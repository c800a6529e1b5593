"""The default cutoff keeps its false-alarm rate on new rows of the majority."""

import numpy as np
import pytest

from bsvdd import BDD, BSVDD


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize(
    "est",
    [BSVDD(draws=300, tune=200), BDD(), BDD(simplex=True)],
    ids=["BSVDD", "BDD", "BDD simplex"],
)
def test_one_new_row_in_ten_is_flagged(est):
    """Mean of four fits to 200 rows, tested on 2,000: .10 wanted, its sd is about .01."""
    flagged = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, Z = rng.normal(size=(200, 2)), rng.normal(size=(2000, 2))
        flagged.append(np.mean(est.fit(X).predict(Z) == -1))
    assert 0.06 < np.mean(flagged) < 0.14
