"""Questions to a fit, a file each: functions of a :class:`bsvdd.estimators.fit.Fit`."""
