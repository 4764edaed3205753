"""The view ``shapes``: how long operators took in each iteration, and with which shapes."""
