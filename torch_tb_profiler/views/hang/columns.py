"""The tables of the view ``hang``."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

NO_STACK = "The dump has no call stacks, or the rank made no call that is in its dump."
NO_TRACE = "The rank has no trace, or its trace does not say it."
NO_TIME = "The dump has no time of the call."

_GROUP = Column("group", "Group", "string", None, "Process group.")
_SEQUENCE = Column(
    "sequence",
    "Sequence Number",
    "integer",
    None,
    "As torch counts the collectives of a group from 1.",
)
_OPERATION = Column(
    "operation", "Call", "string", None, "Collective or transfer, with its backend."
)
_SINCE = Column(
    "waited_us",
    "Waited",
    "number",
    "us",
    "From the call until the dumps were written; at least, where that time is unknown.",
    null_reason=NO_TIME,
)
_LOCATION = Column(
    "location",
    "Called At",
    "string",
    None,
    "Innermost frame of the call that is not of torch.",
    null_reason=NO_STACK,
)

_CAUSE = (
    Column("problem", "Problem", "string", None, "What keeps the members waiting."),
    Column(
        "is_root",
        "Root",
        "boolean",
        None,
        "Whether no other hang explains it: the ranks that its members wait for wait nowhere "
        "else, or the groups wait for each other.",
    ),
    Column("waiting_ranks", "Waiting", "string", None, "Members that wait in it."),
    Column(
        "blocking_ranks",
        "Waited For",
        "string",
        None,
        "Members that did not enter it, have not started it, or made a call that does not fit.",
    ),
    Column("no_dump_ranks", "No Dump", "string", None, "Members without a dump."),
    Column(
        "held_by",
        "Held By",
        "string",
        None,
        "Groups in which the ranks wait that it waits for.",
    ),
)

HANGS = TableSpec(
    "hangs",
    "What hangs",
    "One row per collective or transfer that ranks wait in, those that explain the others first. "
    "Groups with the same call, problem and cause are one row; the table of groups has each.",
    (
        Column(
            "group_count", "Groups", "integer", "count", "Process groups that hang in this way."
        ),
        Column("group", "Group", "string", None, "Their names; of many the first ones."),
        _SEQUENCE,
        _OPERATION,
        *_CAUSE,
        _SINCE,
    ),
    when_empty="No rank waits in a collective or transfer.",
)

HANG_GROUPS = TableSpec(
    "hang_groups",
    "Groups",
    "One row per process group and backend: how far its members came together, and what they wait "
    "in.",
    (
        _GROUP,
        Column(
            "backend", "Backend", "string", None, "Communication library, as its calls name it."
        ),
        Column("members", "Members", "integer", "count", "Ranks of the group, as far as known."),
        Column("ranks", "Ranks", "string", None, "Its members."),
        Column(
            "last_completed",
            "Last Completed",
            "integer",
            None,
            "Sequence number of the last collective that every member with a dump completed.",
            null_reason="No collective is known to be completed by every member.",
        ),
        Column(
            "sequence",
            "Hangs In",
            "integer",
            None,
            "Sequence number of the first collective that a member entered and did not complete.",
            null_reason="No member waits in a collective of the group.",
        ),
        _OPERATION,
        *_CAUSE,
        _SINCE,
    ),
    when_empty="The dumps hold no collective.",
)

HANG_RANKS = TableSpec(
    "hang_ranks",
    "Ranks",
    "One row per member of a group that hangs: its state in the collective in which the group "
    "hangs, and where it was called.",
    (
        Column("rank", "Rank", "integer", None, "Number of the process in the job."),
        _GROUP,
        _SEQUENCE,
        _OPERATION,
        Column(
            "state",
            "State",
            "string",
            None,
            "not entered; scheduled (called, not started on the device, or the backend does not "
            "record starts); started; completed (or left with an error); no dump.",
        ),
        Column("fits", "Matches", "boolean", None, "Whether its call is that of most members."),
        _SINCE,
        _LOCATION,
        Column(
            "last_call",
            "Last Call",
            "string",
            None,
            "Of a rank that did not enter it: its last call in any group, where it was when torch "
            "last heard of it.",
        ),
        Column(
            "host_at_hang",
            "Host at Hang",
            "string",
            None,
            "Of a rank with a trace, in the middle of the wait as far as its trace covers it: what "
            "runs on its main thread, and the Python frame around it.",
            null_reason=NO_TRACE,
        ),
        Column(
            "device_at_hang",
            "Device at Hang",
            "string",
            None,
            "At the same moment: what runs on its devices, or since when they are idle.",
            null_reason=NO_TRACE,
        ),
        Column(
            "trace_gap",
            "Why Unknown",
            "string",
            None,
            "Why the trace of the rank does not say what it did.",
            hidden=True,
        ),
        Column("stack", "Stack", "string", None, "Frames of that call.", hidden=True,
               null_reason=NO_STACK),
    ),
    when_empty="No rank waits in a collective.",
)  # fmt: skip

HANG_COLLECTIVES = TableSpec(
    "hang_collectives",
    "Collectives",
    "One row per collective, state and call around the one in which a group hangs: ranks whose "
    "calls do not match are listed one after the other.",
    (
        _GROUP,
        _SEQUENCE,
        Column(
            "is_hang", "Hangs", "boolean", None, "Whether it is the one in which the group hangs."
        ),
        Column("state", "State", "string", None, "State of these ranks, as in Ranks."),
        _OPERATION,
        Column("input_sizes", "Input Sizes", "string", None, "Shapes of what it reads."),
        Column("output_sizes", "Output Sizes", "string", None, "Shapes of what it writes."),
        Column("types", "Types", "string", None, "Types of what it reads and writes."),
        Column("count", "Ranks", "integer", "count", "Number of ranks."),
        Column("ranks", "Which", "string", None, "These ranks."),
        _LOCATION,
    ),
    when_empty="No group hangs.",
)

BATCH_TRANSFERS = TableSpec(
    "batch_transfers",
    "Transfers",
    "One row per send or receive that is not completed, with what its counterpart is.",
    (
        _GROUP,
        Column("batch", "Batch", "integer", None, "Sequence number of its batch."),
        Column("rank", "Rank", "integer", None, "Rank that called it."),
        Column("peer", "Peer", "integer", None, "The other rank; null: any."),
        _OPERATION,
        Column("state", "State", "string", None, "scheduled or started."),
        Column(
            "problem",
            "Problem",
            "string",
            None,
            "no counterpart: the other rank made no call that fits; transfer differs: the call of "
            "the other rank has other sizes or types; no dump: the other rank has none.",
        ),
        Column("sizes", "Sizes", "string", None, "Shapes and types of what it moves."),
        Column("peer_sizes", "Sizes of Peer", "string", None, "Those of the counterpart."),
        _SINCE,
        _LOCATION,
    ),
    when_empty="No send or receive is waiting. (gloo does not record them.)",
)

HANG_DUMPS = TableSpec(
    "hang_dumps",
    "Dumps",
    "One row per dump.",
    (
        Column("rank", "Rank", "integer", None, "Rank, from the name of the file."),
        Column("file", "File", "string", None, "Name of the file."),
        Column("version", "Version", "string", None, "Version of the format."),
        Column("library", "Library", "string", None, "Version of the communication library."),
        Column("calls", "Calls", "integer", "count", "Calls in it."),
        Column(
            "is_overwritten",
            "Older Calls Lost",
            "boolean",
            None,
            "Whether earlier calls were overwritten: the buffer has TORCH_FR_BUFFER_SIZE of them.",
        ),
        Column("is_cut", "Cut", "boolean", None, "Whether the file ends in the middle."),
    ),
    is_summary=True,
)

TABLES = (HANGS, HANG_RANKS, HANG_GROUPS, HANG_COLLECTIVES, BATCH_TRANSFERS, HANG_DUMPS)
