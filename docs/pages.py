"""Pages from the code: the models and the command line; formulas as MathML.

Browsers show MathML themselves: nothing is fetched when a page is read.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.inspect import object_description

from bsvdd.cli import main
from bsvdd.estimators.as_published import PUBLISHED, as_published
from bsvdd.estimators.registry import REGISTRY, Record

WIDTH = 96  # of the help of commands
FORMULAS = {  # of the models without a posterior
    **dict.fromkeys(("SVDD", "SVDD-M"), "svdd"),
    **dict.fromkeys(("OCSVM", "SVM", "DSVM-CIL", "LS-SVM", "IDLSSVM-CIL"), "machines"),
}
PRIORS = {"prior": "prior", "minority_prior": "prior of the minority's weights"}


def _rows(record: Record) -> str:
    """Return the rows that the weights depend on."""
    return "majority, minority" if record.needs_minority else "majority"


def formula(record: Record) -> str:
    """Return the module whose docstring has the formula."""
    cls = record.estimator()
    name: str = (
        cls._Model.__module__
        if record.bayesian
        else f"bsvdd.models.{FORMULAS[record.name]}"
    )
    return name


def model(record: Record) -> str:
    """Return the page of a model: what it is, its picture, formula and reference."""
    reference = re.sub(r"doi:(\S+)", r"[doi:\1](https://doi.org/\1)", record.reference)
    facts = {
        "estimator": f"{{py:class}}`bsvdd.{record.class_name}`",
        "learns from": f"{_rows(record)} rows",
        "posterior": "yes" if record.bayesian else "no: one estimate",
        **{
            title: f"`{object_description(record.parameters[name])}`"
            for name, title in PRIORS.items()
            if name in record.parameters
        },
        "reference": reference,
        "code": f"{{py:mod}}`{formula(record)}`",
    }
    table = "\n".join(f"| {name} | {fact} |" for name, fact in facts.items())
    return f"""\
({record.class_name})=
# {record.name}

{record.title}.

| | |
|---|---|
{table}

![P(normal | data) of {record.name} on the half moon]\
(../pictures/{record.class_name}.png)

The same half moon for {{doc}}`all models <index>`: P(normal | data) in colour, the
decision boundary as a line.

## Formula

```{{eval-rst}}
.. currentmodule:: {formula(record)}

{inspect.cleandoc(importlib.import_module(formula(record)).__doc__ or "")}
```

{_as_published(record)}## Reference

```{{eval-rst}}
.. currentmodule:: bsvdd

.. autoclass:: bsvdd.{record.class_name}
   :members:
   :exclude-members: set_fit_request, set_predict_request,
      set_decision_function_request, set_predict_proba_request, set_score_request
```

### Methods that it shares

{_shared(record)}
"""


def _as_published(record: Record) -> str:
    """Return the model as published; nothing for a model without a publication."""
    if record.name not in PUBLISHED:
        return ""
    return f"""\
## As published

`bsvdd.as_published("{record.name}")`:

```python
{as_published(record.name)!r}
```

{{py:func}}`bsvdd.as_published` says what the source has and what it leaves open.
"""


def models() -> str:
    """Return the page that lists the models."""
    rows = "\n".join(
        f"| [{r.name}]({r.class_name}.md) | {r.title} | {_rows(r)} | "
        f"{'yes' if r.bayesian else 'no'} |"
        for r in REGISTRY.values()
    )
    pages = "\n".join(r.class_name for r in REGISTRY.values())
    pictures = "\n".join(
        f"[![{r.name}](../pictures/{r.class_name}.png)]({r.class_name}.md)"
        for r in REGISTRY.values()
    )
    return f"""\
# Models

One page for each: formula, prior, picture, reference. Which one to take:
[](../guide/which_model.md).

| model | title | learns from | posterior |
|---|---|---|---|
{rows}

## The same rows for all

150 majority rows on a half moon, 15 minority rows on the facing one, standardised
columns, a Gaussian kernel with the default bandwidth, and a cutoff by the best G-mean
on left-out rows. A model without a posterior has one boundary, and no shades beside it.

<div class="gallery">

{pictures}

</div>

```{{toctree}}
:hidden:

{pages}
```
"""


def command_line() -> str:
    """Return the page of the commands, as they help themselves."""
    parts = "\n".join(
        f"## {path}\n\n```text\n{text}\n```\n"
        for path, text in _commands(main, "bsvdd")
    )
    return f"# Command line\n\n{parts}"


def _commands(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    settings = {
        "terminal_width": WIDTH,
        "max_content_width": WIDTH,
        **command.context_settings,
    }
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context.command_path, command.get_help(context)
    for below, each in getattr(command, "commands", {}).items():
        yield from _commands(each, below, context)


def _shared(record: Record) -> str:
    """Return links to the methods and attributes that each base class gives."""
    lines = []
    seen = set(vars(record.estimator()))
    models = {r.class_name for r in REGISTRY.values()}
    for base in record.estimator().mro()[1:]:
        if not base.__module__.startswith("bsvdd."):
            continue
        name = base.__name__
        home = f"bsvdd.{name}" if name in models else f"{base.__module__}.{name}"
        links = []
        for member, value in vars(base).items():
            is_value = isinstance(value, property | cached_property)
            is_new = not member.startswith("_") and member not in seen
            if is_new and (is_value or inspect.isroutine(value)):
                role = "attr" if is_value else "meth"
                links.append(f"{{py:{role}}}`{member} <{home}.{member}>`")
        seen |= set(vars(base))
        if links:
            lines.append(f"- {{py:class}}`~{home}`: {', '.join(links)}")
    return "\n".join(lines)


def write(app: Sphinx) -> None:
    """Write the pages."""
    folder = Path(app.srcdir)
    pages = {f"models/{r.class_name}.md": model(r) for r in REGISTRY.values()}
    pages |= {"models/index.md": models(), "reference/cli.md": command_line()}
    for path in folder.glob("models/*.md"):
        if f"models/{path.name}" not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def without_formula(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: Any
) -> None:
    """Let the page of a model alone show the docstring of its module."""
    pages = [r for r in REGISTRY.values() if formula(r) == name]
    if what == "module" and pages:
        links = ", ".join(f":class:`bsvdd.{r.class_name}`" for r in pages)
        lines[:] = [lines[0], "", f"The formula stands on the page of {links}.", ""]


def mathml(tex: str, display: str) -> str:
    """Return TeX as MathML, ``display`` being "inline" or "block"."""
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    # "log p", and not "logp"
    tex = re.sub(r"\\(log|ln|max|min)(?= [\\\w])", r"\\\1\\,", tex)
    # latex2mathml has a tilde for the relation
    found = convert(tex, display=display)
    return found.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    self.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them, and register the renderer."""
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", without_formula)
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
