"""The quality report: what was repaired, clamped, left out or cannot be known, with counts.

Every part of the pipeline that meets something odd adds to it, so that no event
disappears without a word. Codes and their texts stand here once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ISSUE_TEXTS: dict[str, str] = {
    "truncated": "The file ends in the middle; everything before the cut was read.",
    "gzip_truncated": "The gzip stream ends in the middle; what could be unpacked was read.",
    "gzip_corrupt": "The gzip stream is damaged; what stands before the damage was read.",
    "snapshot_without_times": "The snapshot does not say when its events happened: they are shown "
    "in their order, 1 us apart.",
    "snapshot_stacks_left_out": "Events whose call stack is beyond the 300,000 distinct ones that "
    "are told apart count without a stack.",
    "trailing_data": "Text after the end of the first JSON document was ignored.",
    "trailing_comma": "A comma too many was skipped.",
    "stray_text": "Something between the events that is no event was skipped.",
    "bad_encoding": "Bytes that are not valid UTF-8 were replaced by U+FFFD.",
    "utf16": "The file is UTF-16 (a PowerShell redirection, say); it was converted.",
    "control_characters": "Raw control characters inside strings were accepted.",
    "quote_repaired": "Unescaped double quotes inside strings were repaired.",
    "ambiguous_name": "A quote in a name made valid JSON with a wrong name; the name was restored.",
    "backslash_repaired": "Lone backslashes were taken literally.",
    "empty_value": "Keys without a value were read as null.",
    "text_cut": "Texts of more than 262144 characters were cut.",
    "not_a_number": "NaN, inf or N/A in place of a number was read as null.",
    "header_value": "Values of the header that are not of their type, or beyond sense, were left "
    "out.",
    "argument_value": "Arguments of events that hold no number where one is due, or one beyond "
    "sense, were read as null.",
    "impossible_measure": "Kernels whose occupancy or blocks per multiprocessor cannot be true "
    "(occupancy 0 with many warps, beyond 100 %, below 0): taken as not recorded.",
    "python_frames_left_out": "Python frames and modules were left out while reading, as was "
    "asked: there are no modules and no stacks of frames.",
    "event_dropped": "Events that could not be repaired were left out.",
    "empty_event": "Empty events ({}) were skipped.",
    "event_without_time": "Events without a usable time stamp were left out.",
    "missing_name": "Events without a name are shown as '(unnamed)'.",
    "missing_category": "Slices without a category were classified by their track and arguments.",
    "missing_duration": "Slices without a duration count as 0 long.",
    "negative_duration": "Negative durations were set to 0.",
    "huge_duration": "Slices that would end after the recording were clipped to its end.",
    "string_time": "Time stamps written as strings were read as decimals.",
    "unpadded_time": "Times lack the zeros behind their point, as PyTorch nightlies of March 2024 "
    "wrote them: .5 was read as 5 ns.",
    "unknown_category": "Slices of a category this version does not know.",
    "ascend_trace": "Written by Ascend's tools: the process of a row tells what it holds.",
    "unknown_phase": "Events of a phase this version does not read were left out.",
    "range_unclosed": "Ranges that were not closed were ended with the recording.",
    "range_across_threads": "Ranges that one thread opened and another closed: they stand on rows "
    "of their own and own no work.",
    "ranges_as_operators": "The recording names no operators: its ranges stand in their place.",
    "graph_node_unknown": "Kernels of CUDA graphs whose node, or the one it was made from, is not "
    "in the file: they belong to what launched the graph.",
    "unmatched_begin": "B events without an E were closed at the end of their track.",
    "unmatched_end": "E events without a B were left out.",
    "overlapping_slices": "Slices overlap without nesting; each is kept on a lane of its own.",
    "kernel_without_launch": "Device events whose launch is not in the file.",
    "launch_ambiguous": "Several processes of the file use the correlation id of these device "
    "events, and nothing tells which of them launched them; they count for none.",
    "launch_without_kernel": "Launches whose device event is not in the file.",
    "launch_without_operator": "Launches outside every operator and range of their thread.",
    "kernel_before_launch": "Device events start before their launch (clock skew); delay is 0.",
    "external_id_untrusted": "External ids repeat correlation ids; launches were linked by time.",
    "duplicate_correlation": "Host calls share a correlation id; the first that can launch counts.",
    "device_without_properties": "Devices that ran work, and that the recording does not describe.",
    "device_numbers_matched": "Devices have two numbers in this file: torch's, of those that the "
    "program sees, on memory events and declared devices, and ROCm's, of those in the machine, on "
    "kernels. Both were matched; the kernels' number is shown.",
    "device_numbers_unmatched": "Memory events number the devices otherwise than kernels do, and "
    "nothing tells which are the same: memory is shown by torch's own numbers.",
    "device_out_of_range": "Device numbers of 1024 and more, which no process has, were ignored.",
    "several_processes": "The file holds steps of several processes: a step is named with all "
    "steps of its number, and a moment is counted once.",
    "step_duplicate": "Several ranges of steps carry the same number.",
    "step_left_out": "Last steps left out of averages: the recording ended in them.",
    "memory_of_several_processes": "Several processes of the file allocate on a device; its totals "
    "and peaks are those of one process at a time, not their sum.",
    "database_truncated": "The database ends in the middle: so many of its pages are missing; the "
    "rows on the others were read.",
    "message_damaged": "Messages of the file that end before their length says were read as far as "
    "they go.",
    "database_damaged": "Parts of the database are damaged; the rows in them were left out.",
    "database_cell": "Cells of the database that hold no number where one is due were read as "
    "null.",
    "side_file_unreadable": "Files of the recording hold none of what their names promise; they "
    "were left out.",
    "side_row_left_out": "Rows of the recording's own tables that are damaged were left out.",
    "recorded_mean_differs": "The mean in the file of the step trace is not that of its steps: "
    "some are missing.",
    "other_device_files": "Files of other devices lie in the same folder; they are not part of "
    "this trace.",
    "samples_own_clock": "Samples have a clock that the timeline does not share: they do not stand "
    "beside what ran when they were taken.",
    "memory_usage_unread": "The recording holds memory_usage_*.pb, which is not read.",
    "samples_thinned": "Samples of devices were so many that each few in a row became their mean.",
    "graph_without_kernels": "Launches of CUDA graphs that were recorded as a whole, without their "
    "kernels: capture again with --cuda-graph-trace=node.",
    "graph_kernels_at_creation": "Kernels of replayed CUDA graphs belong to the operators and "
    "ranges inside which their graph was made; ranges around its launches have no time of them.",
    "graph_without_time": "Launches of CUDA graphs whose time is not recorded were left out.",
    "nsys_text_missing": "Texts that the export refers to and does not hold.",
    "nsys_events_dropped": "Nsight Systems warned that it lost events, or may have.",
    "nsys_warnings": "Warnings of Nsight Systems while it recorded; its window shows them.",
    "nsys_errors": "Errors of Nsight Systems while it recorded; its window shows them.",
    "broken_message": "Messages that end in the middle of a field: what stands before was read.",
    "interned_missing": "Names that the file gives by a number which it explains nowhere.",
    "state_lost": "Events behind lost packets were left out: what their numbers stand for is lost.",
    "no_steps": "The recording names no steps; all of it counts as one step.",
    "ascend_link_differs": "Device rows that an arrow of the file ties to another operator than "
    "the calls and queues in between; the calls count.",
    "ascend_overlap_differs": "The rows of Overlap Analysis give computing, communication or free "
    "time that differs by more than 1 % from what the tasks of the timeline give.",
    "ascend_kernel_unmatched": "Kernels that a table describes and the timeline does not hold.",
    "ascend_both": "The folder holds a database and text files: the database was read.",
    "ascend_file_missing": "Files that such a folder has are not there: what they tell is missing.",
    "ascend_file_unreadable": "Files of the folder could not be read, or hold other columns.",
    "journal_line": "Lines of the recorder's journal that are damaged were left out.",
    "journal_value": "Values of the recorder's journal that are not of their type, or beyond "
    "sense, were read as null.",
    "journal_repeated": "Rows that the recorder's journal tells twice count once.",
    "journal_unknown": "Blocks of the recorder's journal of a kind that this version does not know "
    "were left out.",
    "journal_no_header": "The recorder's journal has no header: whose it is, is not known.",
    "journal_no_end": "The recorder's journal has no end: the program was killed, or still runs.",
    "beside_unread": "Files beside the trace, of annotations, captured graphs or generated "
    "kernels, could not be read: what they tell is missing.",
    "beside_left_out": "Files beside the trace were left out: they are too large, or too many.",
}
"""Issue code → sentence. The count stands beside it in the report."""


@dataclass(slots=True)
class QualityReport:
    """Counts of what was odd in a trace, by issue code.

    ``counts`` maps a code of :data:`ISSUE_TEXTS` to how many events it concerns;
    ``examples`` keeps the first few concrete cases as text (file offset, name) for people.
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
            kept = self.examples.setdefault(code, [])
            if len(kept) < self.MAX_EXAMPLES:
                kept.append(example[:200])

    def merge(self, other: QualityReport) -> None:
        """Add everything ``other`` counted."""
        for code, count in other.counts.items():
            self.add(code, count)
        for code, texts in other.examples.items():
            kept = self.examples.setdefault(code, [])
            kept.extend(texts[: max(0, self.MAX_EXAMPLES - len(kept))])
