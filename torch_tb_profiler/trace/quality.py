"""The quality report: counts of what was repaired, clamped, skipped or is unknown.

Every part of the pipeline that meets an irregularity adds to it, so that no event disappears
silently. All codes and their texts are here.
"""

from __future__ import annotations

from msgspec import Struct, field

PART_MEANING = (
    "what lies outside is in no figure, so that the launch of a kernel before the part is unknown."
)

ISSUE_TEXTS: dict[str, str] = {
    "truncated": "The file ends in the middle; everything before the cut was read.",
    "gzip_truncated": "The gzip stream ends in the middle; what could be decompressed was read.",
    "gzip_corrupt": "The gzip stream is damaged; everything before the damage was read.",
    "snapshot_without_times": "The snapshot has no event times: its events are shown in their "
    "order, 1 us apart.",
    "snapshot_stacks_left_out": "Events whose call stack is not among the first distinct ones "
    "count without a stack.",
    "snapshot_blocks_missing": "Devices of which events release more than the final blocks and "
    "segments allow: some are not in the file. Totals over time count the least that is missing.",
    "trailing_data": "Text after the end of the first JSON document was ignored.",
    "trailing_comma": "An extra comma was skipped.",
    "stray_text": "Text between the events that is not an event was skipped.",
    "bad_encoding": "Bytes that are not valid UTF-8 were replaced by U+FFFD.",
    "utf16": "The file is UTF-16 (a PowerShell redirection, say); it was converted.",
    "control_characters": "Raw control characters inside strings were accepted.",
    "quote_repaired": "Unescaped double quotes inside strings were repaired.",
    "ambiguous_name": "A quote in a name made valid JSON with a wrong name; the name was restored.",
    "backslash_repaired": "Single backslashes were taken literally.",
    "empty_value": "Keys without a value were read as null.",
    "text_cut": "Texts of more than 262144 characters, in side files of fewer, were cut.",
    "not_a_number": "NaN, inf or N/A in place of a number was read as null.",
    "header_value": "Header values of the wrong type or out of range were left out.",
    "argument_value": "Event arguments without a number where one is expected, or with one out "
    "of range, were read as null.",
    "impossible_measure": "Kernels with an impossible occupancy or number of blocks per "
    "multiprocessor (occupancy 0 with many warps, above 100 %, below 0), or copies of less than 0 "
    "bytes: treated as not recorded.",
    "python_frames_left_out": "Python frames and modules were left out while reading, as "
    "requested: there are no modules and no stacks of frames.",
    "part_read": f"Only a part of the recording was read, as requested: {PART_MEANING}",
    "part_edges": "Slices that begin before the part or end after it count whole; what lies in "
    "them outside the part was not read, so their own time may be too long.",
    "event_dropped": "Events that could not be repaired were left out.",
    "empty_event": "Empty events ({}) were skipped.",
    "events_left_out": "A notable share of the file's events was left out.",
    "event_without_time": "Events without a usable time stamp were left out.",
    "missing_name": "Events without a name are shown as '(unnamed)'.",
    "missing_category": "Slices without a category were classified by their track and arguments.",
    "missing_duration": "Slices without a duration count as 0 long.",
    "negative_duration": "Negative durations were set to 0.",
    "huge_duration": "Slices that would end after the recording were clipped to its end.",
    "far_time": "Times more than a year from the others were moved to that distance.",
    "string_time": "Time stamps written as strings were read as decimals.",
    "unpadded_time": "Times lack the zeros after the decimal point, as written by PyTorch "
    "nightlies of March 2024: .5 was read as 5 ns.",
    "unknown_category": "Slices of a category that this version does not know.",
    "ascend_trace": "Written by Ascend's tools: the process of a row determines what it holds.",
    "unknown_phase": "Events of a phase this version does not read were left out.",
    "range_unclosed": "Ranges without an end were closed at the end of the recording.",
    "range_across_threads": "Ranges that one thread opened and another closed: they have rows of "
    "their own and own no work.",
    "ranges_as_operators": "The recording has no operators: its ranges are shown as operators.",
    "graph_node_unknown": "Kernels of CUDA graphs whose node, or the node it was created from, "
    "is not in the file: they belong to the launch of the graph.",
    "unmatched_begin": "B events without an E were closed at the end of their track.",
    "unmatched_end": "E events without a B were left out.",
    "overlapping_slices": "Slices overlap without nesting; each is shown on a separate lane.",
    "kernel_without_launch": "Device events whose launch is not in the file.",
    "launch_ambiguous": "Several processes of the file use the correlation id of these device "
    "events, and their launches cannot be determined; they count for no operator.",
    "launch_without_kernel": "Launches whose device event is not in the file.",
    "launch_without_operator": "Launches outside every operator and range of their thread.",
    "kernel_before_launch": "Device events start before their launch (clock skew); their launch "
    "delay counts as 0.",
    "external_id_untrusted": "External ids repeat correlation ids; launches were linked by time.",
    "duplicate_correlation": "Host calls share a correlation id; the first launching call is used.",
    "device_without_properties": "Devices that ran work and that the recording does not describe.",
    "device_numbers_matched": "Devices have two numbers in this file: memory events and declared "
    "devices use torch's numbers of the visible devices, kernels use the driver's numbers of the "
    "devices in the machine. Both were matched; the kernels' number is shown.",
    "device_numbers_unmatched": "Memory events and kernels number the devices differently, and "
    "the numbers could not be matched: memory is shown with torch's own numbers.",
    "device_out_of_range": "Device numbers of 256 and more, which no process has, were ignored.",
    "several_processes": "The file holds steps of several processes: steps with the same number "
    "are selected together, and overlapping time counts once.",
    "step_duplicate": "Several step ranges have the same number.",
    "step_left_out": "Last steps left out of averages: the recording ended during them.",
    "memory_of_several_processes": "Several processes of the file allocate on a device; its "
    "totals and peaks are those of one process at a time, not their sum.",
    "database_truncated": "The database ends in the middle: this many of its pages are missing; "
    "the rows on the others were read.",
    "message_damaged": "Messages of the file that are shorter than their declared length were "
    "read as far as possible.",
    "database_damaged": "Parts of the database are damaged; the rows in them were left out.",
    "database_cell": "Database cells without a number where one is expected were read as null.",
    "side_file_unreadable": "Files of the recording do not contain what their names indicate; "
    "they were left out.",
    "side_row_left_out": "Damaged rows of the recording's own tables were left out.",
    "recorded_mean_differs": "The mean in a file of steps differs from the mean of its "
    "steps: some are missing.",
    "communication_unit_unknown": "Times of collectives in hccl_raw_*.csv are in ms or in µs, "
    "depending on the release, and nothing in the file says which: they are not shown.",
    "other_device_files": "Files of other devices are in the same folder; they are not part of "
    "this trace.",
    "steps_without_operators": "Recorded steps whose operators the timeline lacks, as MindSpore "
    "cuts it to a size: they are not among its steps.",
    "samples_own_clock": "Samples use a clock that the timeline does not share: they are not "
    "aligned with the events.",
    "tensor_lifetime_unknown": "Tensors whose first or last operator is not in the file: they are "
    "in no sum of live memory.",
    "samples_thinned": "Device samples were downsampled: several consecutive samples became "
    "their mean.",
    "graph_without_kernels": "Launches of CUDA graphs that were recorded as a whole, without "
    "their kernels: capture again with --cuda-graph-trace=node.",
    "graph_kernels_at_creation": "Kernels of replayed CUDA graphs belong to the operators and "
    "ranges in which their graph was created; ranges around its launches get none of their time.",
    "graph_without_time": "Launches of CUDA graphs whose time is not recorded were left out.",
    "calls_merged": "Kernels with more calls than are shown: Calls are too few and Mean is too "
    "long; Total is right.",
    "xplane_sums": "Events that are a number of occurrences without times were left out.",
    "xplane_errors": "The recorder noted errors while it wrote the profile: parts may be missing.",
    "xplane_warnings": "The recorder noted warnings while it wrote the profile.",
    "nsys_text_missing": "Texts that the export references and does not contain.",
    "nsys_events_dropped": "Nsight Systems warned that it lost events, or may have.",
    "nsys_warnings": "Warnings of Nsight Systems while it recorded; its window shows them.",
    "nsys_errors": "Errors of Nsight Systems while it recorded; its window shows them.",
    "rocprof_not_read": "Records of kinds that are not read (samples of the program counter, "
    "scratch memory, OpenMP, video decoding).",
    "rocprof_counter_unmatched": "Values of counters without a number, or of dispatches that are "
    "not in the file.",
    "broken_message": "Messages that end in the middle of a field: everything before was read.",
    "interned_missing": "Names given by a number that the file does not define.",
    "state_lost": "Events after lost packets were left out: the meaning of their numbers is lost.",
    "reading_stopped": "Reading took longer than any recording of this size does, or brought more "
    "events, and was stopped: what was read is right, the rest of the file is in no number.",
    "texts_cut": "The texts of the file are together longer than the limit: the longest were "
    "cut to 200 characters. Where the beginnings are equal, a number follows.",
    "names_merged": "Names beyond the limit were merged, the rarest first: their digits are shown "
    "as #, or they are '(other names)'. Their times are right.",
    "tracks_left_out": "Threads and streams beyond the limit were left out, those with the fewest "
    "events first; what is on the others is right, sums over all of them and the utilization of "
    "devices are too low.",
    "entries_left_out": "Entries of lists that are longer than the limit were left out; what is "
    "said of the others is right.",
    "loaders_left_out": "Data loaders beyond the limit were left out, those with the fewest "
    "batches first; what is said of the others is right.",
    "levels_left_out": "Slices nested deeper than the limit that contain others were left out: "
    "their time counts for the slice around them. What is above is right.",
    "stacks_cut": "Call stacks with more frames than the limit were cut: the outermost frames are "
    "left out.",
    "execution_joined": "Operators have inputs and tensors from the execution trace next to the "
    "file.",
    "execution_refused": "Execution traces next to the file are of another process: they were not "
    "joined.",
    "node_damaged": "Damaged nodes of an execution trace were left out.",
    "node_repeated": "Nodes of an execution trace with an id that another one has were left out.",
    "node_circle": "Nodes of an execution trace depend on each other in a circle, which was cut at "
    "its oldest nodes.",
    "argument_absent": "Requested arguments that no slice of the file has.",
    "argument_not_read": "Requested arguments that are not read: this format is not read for "
    "arguments by name.",
    "secret_argument": "Values of requested arguments that may be secrets were not read.",
    "arguments_left_out": "Arguments of slices beyond the limit were left out: those with the "
    "rarest names, or the last ones of the file. The others are right.",
    "no_steps": "The recording has no steps; all of it counts as one step.",
    "ascend_link_differs": "Device rows that a flow arrow of the file links to another operator "
    "than the calls and queues in between; the calls count.",
    "ascend_overlap_differs": "The Overlap Analysis rows give computing, communication or free "
    "time that differs by more than 1 % from that of the timeline's tasks.",
    "ascend_kernel_unmatched": "Kernels that a table describes and that the timeline does not "
    "contain.",
    "line_left_out": "Lines of a table longer than the limit were left out.",
    "ascend_both": "The folder holds a database and text files: the database was read.",
    "ascend_file_missing": "Files that such a folder usually has are missing, and so is their "
    "data.",
    "ascend_file_unreadable": "Files of the folder could not be read, or hold other columns.",
    "journal_line": "Lines of the recorder's journal that are damaged were left out.",
    "journal_value": "Values of the recorder's journal of the wrong type or out of range were "
    "read as null.",
    "journal_repeated": "Rows that occur twice in the recorder's journal count once.",
    "journal_unknown": "Blocks of the recorder's journal of an unknown kind were left out.",
    "journal_no_header": "The recorder's journal has no header: its program and rank are unknown.",
    "journal_no_end": "The recorder's journal has no end: the program was killed, or still runs.",
    "beside_unread": "Sidecar files with annotations, captured graphs or generated kernels could "
    "not be read: their data is missing.",
    "other_recording_joined": "Another recording of the process is joined: its slices are drawn on "
    "the timeline and counted in no figure; its counters are those of the same kernels.",
    "other_recording_not_joined": "Another recording in the folder is not joined to this one.",
    "snapshot_joined": "A memory snapshot of the process is joined: its blocks have the operators "
    "of this recording.",
    "snapshot_not_joined": "A memory snapshot in the folder is not joined to this recording.",
    "beside_left_out": "Sidecar files were left out: too large, or too many.",
}
"""Issue code → sentence. The report shows the count next to it."""

MAX_UNREPORTED_SHARE = 0.03
"""If a larger share of a file's events is left out, no number may be read without knowing it."""


class QualityReport(Struct):
    """Counts of irregularities in a trace, by issue code.

    ``counts`` maps a code of :data:`ISSUE_TEXTS` to the number of affected events; ``examples`` has
    the first few concrete cases as text (file offset, name) for people.
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    MAX_EXAMPLES = 3

    def add(self, code: str, count: int = 1, example: str | None = None) -> None:
        """Count ``count`` more cases of ``code``; 0 adds nothing.

        Raises:
            KeyError: ``code`` is not in :data:`ISSUE_TEXTS`.
        """
        if code not in ISSUE_TEXTS:
            raise KeyError(code)
        if count <= 0:
            return
        self.counts[code] = self.counts.get(code, 0) + count
        if example is not None:
            examples = self.examples.setdefault(code, [])
            if len(examples) < self.MAX_EXAMPLES:
                examples.append(example[:200])

    def add_left_out(self, left_out: int, total: int) -> None:
        """Report that ``left_out`` of a file's ``total`` events are in no table, for any reason, if
        they are more than :data:`MAX_UNREPORTED_SHARE`; the example says the share."""
        if left_out > MAX_UNREPORTED_SHARE * total:
            share = f"{left_out / total:.1%}".replace("%", " %")
            example = f"{share} of the file's events ({left_out:,} of {total:,})"
            self.add("events_left_out", left_out, example)

    def merge(self, other: QualityReport) -> None:
        """Add all counts of ``other``."""
        for code, count in other.counts.items():
            self.add(code, count)
        for code, texts in other.examples.items():
            examples = self.examples.setdefault(code, [])
            examples.extend(texts[: max(0, self.MAX_EXAMPLES - len(examples))])
