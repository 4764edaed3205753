"""Steps of a recording: what splits it into iterations, their windows, costs, overlap and phases.

``masks`` says which rows a selection means; ``data_loading`` what loaders did for the steps.
"""
