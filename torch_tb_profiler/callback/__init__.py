"""``ProfilerCallback``: records a training of Lightning or Hugging Face's ``Trainer`` and logs to
its loggers: the verdict on a window soon after it was written, and at the end the verdict on the
recording with step metrics.

A face: it joins ``recorder``, which runs in the program, with what reads recordings, which runs in
processes of their own. Nothing here raises into a training; failures are warnings on stderr.
Trackers and frameworks are imported only where the program has them.
"""
