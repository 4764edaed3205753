"""Records data loading: what each batch of a ``torch.utils.data`` loader waited for.

``hooks`` is the part of the session, ``workers`` sees worker processes from the training process,
``worker_process`` runs inside them. Datasets, samplers and batches of the program are never changed
for good. May use the session, the journal and the clock; nothing else of the recorder.
"""
