"""From vectors to groups of traces: neighbours, projection, groups, quality. Knows no trace, no store and no stage.

`side.cluster_side` is the entry point; `params` alone can be imported without paying for numpy.
"""
