"""A model as a value: what resolves its lambda, and its priors."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m, calibration

from bsvdd import kernels, priors

ROWS = np.random.default_rng(0).normal(size=(40, 2))
ALONE = Gram.from_rows(kernels.RBF(1e-3), ROWS)  # whose root is known
FEW = Gram.from_rows(kernels.RBF(1.0), ROWS[:4])
ON_SIMPLEX, FREE = calibration.curvature_of_one(), 1 - calibration.SD**-2


@pytest.mark.parametrize(
    ("model", "given", "gram", "scale", "reason"),
    [
        *((m, 2, ALONE, 2.0, None) for m in (bsvdd.Model, bdd.Model, bsvdd_m.Model, bdd_m.Model)),
        (bsvdd.Model, "calibrated", ALONE, 40 * ON_SIMPLEX, None),
        (bdd.Model, "calibrated", ALONE, 40 * FREE, None),
        (bsvdd.Model, "calibrated", FEW, 4 * ON_SIMPLEX, "4 rows are too few"),
        (bdd.Model, "calibrated", FEW, 4 * FREE, "4 rows are too few"),
    ],
)
def test_lambda_is_resolved_to_a_number(model, given, gram, scale, reason):
    asked = model(priors.Flat(), given)
    found, why = asked.resolved(gram)
    assert found.scale == pytest.approx(scale) and type(found.likelihood_scale) is float
    assert found.is_calibrated == (given == "calibrated")
    assert reason in why if reason else why is None
    assert found == replace(asked, likelihood_scale=found.scale, is_calibrated=found.is_calibrated)
    with pytest.raises(FrozenInstanceError):
        found.likelihood_scale = 1.0
    again, _ = found.resolved(Gram.from_rows(ALONE.kernel, ROWS[:20]))  # of other rows
    assert again.scale == pytest.approx(scale if given == 2 else 20 * (scale / gram.n0))


def test_lambda_is_calibrated_to_rows_that_are_no_points():
    gram = Gram.from_rows(kernels.RBF(0.8), ROWS, dictionary=ROWS[::4])
    for model, on_simplex in ((bsvdd.Model, True), (bdd.Model, False)):
        found, _ = model(priors.Flat(), "calibrated").resolved(gram, ROWS)
        assert found.scale == calibration.calibrated(gram, ROWS, on_simplex).scale
        alone = Gram.from_rows(kernels.RBF(0.8), ROWS[::4])
        assert found.scale != model(priors.Flat(), "calibrated").resolved(alone)[0].scale


def test_priors_are_the_fields_of_that_name():
    minority = priors.Beta(2, 3)
    model = bsvdd_m.Model(priors.Flat(), minority_prior=minority)
    assert model.priors == {"prior": priors.Flat(), "minority_prior": minority}
    assert list(bdd.Model(priors.Flat()).priors) == ["prior"]
