"""Statistics of scores as plain arrays: correlation, agreement, ratings, resampling. Imports
nothing of ours, does no I/O.
"""
