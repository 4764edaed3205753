"""Questions answered: the traces they are about are looked up and waited for, then looked at."""
