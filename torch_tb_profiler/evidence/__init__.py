"""What the detectors of ``torch_tb_profiler/detectors/`` share.

* ``context``: one trace and the steps of a selection, with the measures most detectors need.
* ``finding``, ``ranking``, ``report``: what a detector returns, how findings become notes, and the
  table of all checks.
* ``needs``: what a recording must hold for a detector to run.
* ``tables``: columns that several evidence tables share, and how the tables are filled.
* everything else: measurements that several detectors use (idle time, waits, exposed communication,
  kernel time, settings, …), each with the evidence table that shows it.

May import: ``analysis``, ``knowledge``, ``trace``, and of ``views`` only what all views share
(schema, scales, reasons); no detector.
"""
