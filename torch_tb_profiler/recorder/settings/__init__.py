"""What a program has set: versions, devices, switches of torch, optimizers, data parallelism.

``program_settings`` is the part of the session; the other modules each read one subject. Nothing
here starts CUDA, warns or raises in the program. Keys: ``docs/settings.md``.
"""
