r"""The tail of the surprises of a table, and its densities.

The surprise of a row is :math:`t_i = -\log s_i`, s_i the similarity of the row, left out, to the
core, and :math:`u_i = \log t_i - Q_b(\log t)` with a quantile b. Rows with :math:`u > 0` are the
tail, m of n. Normal rows have a smooth tail, a generalised Pareto distribution (Pickands 1975); odd
rows lie anywhere in it, or all far away:

.. math:: u \sim (1 - e)\, \mathrm{GPD}(h, \xi) + e\, \frac{a u^{a - 1}}{U^a}, \qquad
    e = \varepsilon n / m, \qquad U = (1 + 1/m) \max_i u_i,

with the density :math:`h (1 + \xi h u)^{-1/\xi - 1}` of the first. The priors are

.. math:: \log h \text{ flat}, \quad \xi \sim N(-.05, .1^2), \quad \log a \text{ flat on }
    [\log 2, \log 32], \quad \varepsilon \sim \tfrac12 \delta_0 + \tfrac12
    \text{ log-uniform}(.5 / n, .3).

The logarithm of a surprise has a tail that is light for rows of a normal distribution and heavier
for skewed ones; the prior of :math:`\xi` has both. With a = 2 alone, odd rows that all lie far away
would make the model count hidden ones near its beginning. A row 100 times as surprising as the
quantile is beyond any tail, and not in it.

**References**

Pickands, J. (1975). Statistical inference using extreme order statistics. Annals of Statistics 3,
119-131. doi:10.1214/aos/1176343003
"""

from __future__ import annotations
