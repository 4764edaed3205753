"""What a memory snapshot tells: which blocks lived when, and who asked for them."""
