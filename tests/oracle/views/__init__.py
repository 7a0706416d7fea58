"""A second implementation of every report view, in pandas, scipy, scikit-learn, statsmodels and
krippendorff: point values and counts. `rows` says what it reads; intervals are not recomputed here.
"""
