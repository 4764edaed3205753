"""Why a job hangs: the collectives that some ranks entered and others did not."""
