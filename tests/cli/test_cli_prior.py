"""Priors on the command line: read by name, never evaluated."""

import pytest

from bsvdd import priors
from bsvdd.cli.prior import OF_MINORITY, read_prior

READ = {
    "Flat": priors.Flat(),
    " RowSum() ": priors.RowSum(),
    "InverseRowSum(sd=0.5, power=1)": priors.InverseRowSum(sd=0.5, power=1),
    "Normal(m=(-1.0, 2.0))": priors.Normal(m=(-1.0, 2.0)),
    "Beta(total=1)": priors.Beta(total=1),
}
NO_NAME = "a prior is written as a name, or as InverseRowSum"
REFUSED = {
    "Beta": "'Beta' is no prior of the majority's weights",
    "RowSums": r"'RowSums' is no prior .*\(did you mean 'RowSum'\?\); expected one of",
    "RowSum(s=1)": "RowSum: unknown parameter 's'; expected sd, exponent",
    "RowSum(sd=-1)": "sd",
    "Flat(sd=System())": NO_NAME,
    "": NO_NAME,
    "Flat(": NO_NAME,
    "0.5": NO_NAME,
    "RowSum(1)": NO_NAME,
    "RowSum(**{})": NO_NAME,
    "priors.RowSum": NO_NAME,
    "RowSum(sd=1 + 1)": NO_NAME,
    "RowSum(sd=open('x'))": NO_NAME,
    "__import__('os').system('x')": NO_NAME,
    "(Flat,)": NO_NAME,
    "(" * 300 + "Flat" + ")" * 300: NO_NAME,
    "Normal(m=(" + "1.0, " * 500 + "))": NO_NAME,
}


@pytest.mark.parametrize("text", READ)
def test_a_prior_is_read_with_its_parameters(text):
    assert read_prior(text, minority=text.startswith(OF_MINORITY)) == READ[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_what_is_no_prior_is_named_and_nothing_is_evaluated(
    text, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=REFUSED[text]):
        read_prior(text)
    with pytest.raises(
        ValueError, match="'Flat' is no prior of the minority's .*'Beta', 'Trunc"
    ):
        read_prior("Flat", minority=True)
    assert not list(tmp_path.iterdir())
