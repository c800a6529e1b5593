"""Priors on the command line: read by name, never evaluated."""

import pytest

from bsvdd import kernels, priors
from bsvdd.cli.prior import OF_MINORITY, read_prior


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("Flat", priors.Flat()),
        (" RowSum() ", priors.RowSum()),
        ("InverseRowSum(sd=0.5, power=1)", priors.InverseRowSum(sd=0.5, power=1)),
        ("Normal(m=(-1.0, 2.0))", priors.Normal(m=(-1.0, 2.0))),
        (
            "GaussianProcess(kernel=RBF(bandwidth=2.0), nugget=0.1)",
            priors.GaussianProcess(kernel=kernels.RBF(2.0), nugget=0.1),
        ),
    ],
)
def test_a_prior_is_read_with_its_parameters(text, prior):
    assert read_prior(text) == prior


def test_a_prior_of_the_minority_is_one_on_the_unit_interval():
    assert read_prior("Beta(total=1)", minority=True) == priors.Beta(total=1)
    names = {family.__name__ for family in priors.FAMILIES}
    assert set(OF_MINORITY) < names
    with pytest.raises(ValueError, match="'Beta' is no prior of the majority's weights"):
        read_prior("Beta")
    with pytest.raises(ValueError, match="'Flat' is no prior of the minority's .*'Beta', 'Trunc"):
        read_prior("Flat", minority=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Flat(",
        "0.5",
        "RowSum(1)",
        "RowSum(**{})",
        "priors.RowSum",
        "RowSum(sd=1 + 1)",
        "RowSum(sd=open('x'))",
        "__import__('os').system('x')",
        "(Flat,)",
        "(" * 300 + "Flat" + ")" * 300,
        "Normal(m=(" + "1.0, " * 500 + "))",
    ],
)
def test_nothing_is_evaluated(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a prior is written as a name, or as InverseRowSum"):
        read_prior(text)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RowSums", r"'RowSums' is no prior .*\(did you mean 'RowSum'\?\); expected one of '"),
        ("RowSum(s=1)", "RowSum: unknown parameter 's'; expected sd, exponent"),
        ("RowSum(sd=-1)", "sd"),
        ("GaussianProcess(kernel=System())", "unknown type 'System'"),
    ],
)
def test_what_is_no_prior_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        read_prior(text)
