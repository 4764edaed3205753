"""``ProfilerCallback``: records a training of Lightning or Hugging Face's ``Trainer``, opens the
recording at its end and logs the verdict and step metrics to the loggers that the training has.

A face: it joins ``recorder``, which runs in the program, with what reads recordings, which runs in
a process of its own. Nothing here raises into a training; failures are warnings on stderr. Trackers
and frameworks are imported only where the program has them.
"""
