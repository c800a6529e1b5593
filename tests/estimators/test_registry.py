"""The registry names every model once, and says of a model what its class says."""

import inspect

import pytest

import bsvdd
from bsvdd import SVDD
from bsvdd.estimators import bayesian, machines, svdd
from bsvdd.estimators.description import Description
from bsvdd.estimators.machines import Machine
from bsvdd.estimators.registry import REGISTRY, find


def test_every_estimator_of_the_package_has_its_record():
    classes = [
        name
        for module in (svdd, bayesian, machines)
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Description | Machine)
        and value.__module__ == module.__name__
    ]
    bases = {"Bayesian", "Machine"}
    assert sorted(r.class_name for r in REGISTRY.values()) == sorted(
        set(classes) - bases
    )


@pytest.mark.parametrize("name", REGISTRY)
def test_a_record_says_what_its_class_says(name):
    record = REGISTRY[name]
    cls = record.estimator()
    assert find(name) is find(cls.__name__) is record
    assert record.parameters == cls().get_params(deep=False)
    assert record.title and record.title in " ".join(inspect.getdoc(cls).split())
    assert cls is getattr(bsvdd, record.class_name)
    assert "(" in record.reference and record.reference.endswith(tuple("0123456789."))


@pytest.mark.filterwarnings("ignore:each row is like the next")
def test_a_class_of_the_user_is_known_once_it_is_made(tmp_path):
    assert find("OwnBall") is None

    class OwnBall(SVDD):
        """A ball of our own."""

    record = find("OwnBall")
    assert record.estimator() is OwnBall and record.title == "A ball of our own"
    est = OwnBall().fit([[float(x)] for x in range(20)])
    est.save(tmp_path / "m")
    assert type(bsvdd.load(tmp_path / "m")) is OwnBall
