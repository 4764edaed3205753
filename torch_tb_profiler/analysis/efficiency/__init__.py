"""How close operators and the model come to what their devices can reach."""
