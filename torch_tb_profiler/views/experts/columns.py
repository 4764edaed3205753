"""The declared tables of the view of experts."""

from __future__ import annotations

from torch_tb_profiler.views.collectives import WORKER
from torch_tb_profiler.views.schema import Column, TableSpec

NO_TOKENS = (
    "The recording does not say how many tokens the experts get: grouped GEMMs need their input "
    "shapes (record_shapes=True), and the kernels of fused dispatches do not record sizes."
)
ONE_RANK = "The balance over ranks needs recordings of at least two ranks that share experts."
NO_EXCHANGE = "No dispatch or combine is recorded."

_LAYER = Column(
    "layer",
    "Layer",
    "string",
    None,
    "Path of the module, or name of the range around the layer; where none is recorded, the number "
    "of the pass within the step.",
)
_DIRECTION = Column(
    "direction", "Direction", "string", None, "forward or backward; empty where unknown."
)

_STAGE = Column(
    "stage",
    "Stage",
    "integer",
    None,
    "Stage of the pipeline, from 0; empty where the job has none, or it is unknown.",
)


def _time(key: str, title: str, text: str, *, family: str, estimated: bool = False) -> Column:
    return Column(key, title, "number", "us", text, estimated=estimated, family=family)


_DISPATCH_AND_COMBINE = (
    _time(
        "dispatch_us",
        "Dispatch",
        "Time in which tokens are sent to the ranks of their experts, per step.",
        family="exchange",
    ),
    _time(
        "dispatch_exposed_us",
        "Dispatch Exposed",
        "That part of it in which no kernel of the rank computes.",
        family="exchange",
    ),
    _time(
        "combine_us",
        "Combine",
        "Time in which results are sent back, per step.",
        family="exchange",
    ),
    _time(
        "combine_exposed_us",
        "Combine Exposed",
        "That part of it in which no kernel of the rank computes.",
        family="exchange",
    ),
)

LAYERS = TableSpec(
    "expert_layers",
    "Layers of experts",
    "One row per layer of experts and direction: means over the steps and, where ranks form "
    "several groups that share experts, over these.",
    (
        _STAGE,
        _LAYER,
        _DIRECTION,
        Column("ranks", "Ranks", "integer", "count", "Ranks that are compared."),
        Column(
            "passes",
            "Passes",
            "integer",
            "count",
            "Passes through the layer in a step: several with microbatches.",
            hidden=True,
        ),
        Column(
            "tokens_max",
            "Tokens Max",
            "number",
            "count",
            "Tokens of the rank with the most, per step. A token counts once for each expert of "
            "the rank it is sent to; padding in the shapes counts.",
            family="tokens",
            null_reason=NO_TOKENS,
        ),
        Column(
            "tokens_mean",
            "Tokens Mean",
            "number",
            "count",
            "Tokens of a rank on average.",
            family="tokens",
            null_reason=NO_TOKENS,
        ),
        Column(
            "token_imbalance",
            "Token Imbalance",
            "number",
            "ratio",
            "Tokens Max divided by Tokens Mean: 1 is balanced.",
            null_reason=NO_TOKENS,
        ),
        _time(
            "product_max_us",
            "GEMMs Max",
            "Time of the GEMMs of experts on the rank where they take the longest, per step.",
            family="gemms",
        ),
        _time("product_mean_us", "GEMMs Mean", "The same on average.", family="gemms"),
        Column(
            "time_imbalance",
            "Time Imbalance",
            "number",
            "ratio",
            "GEMMs Max divided by GEMMs Mean.",
            null_reason=ONE_RANK,
        ),
        Column(
            "busiest",
            "Busiest",
            "string",
            None,
            "The worker that most often has the most tokens, or, where these are unknown, the "
            "longest GEMMs.",
            null_reason=ONE_RANK,
        ),
        *_DISPATCH_AND_COMBINE,
        _time(
            "cost_us",
            "Cost",
            "How long a rank waits on average per step for the rank with the longest GEMMs: at "
            "most the exposed time of its own dispatch and combine.",
            family="cost",
            estimated=True,
        ),
    ),
    when_empty="No pass through a layer of experts is in this selection.",
)

RANKS = TableSpec(
    "expert_ranks",
    "Ranks",
    "One row per worker: its experts per step.",
    (
        WORKER,
        Column("rank", "Rank", "integer", None, "Rank in its job, where recorded."),
        _STAGE,
        Column(
            "expert_index",
            "Expert Index",
            "integer",
            None,
            "Its index among the ranks that share the experts of a layer: ranks of one index hold "
            "the same experts. Empty where the process groups do not say.",
        ),
        Column(
            "tokens",
            "Tokens",
            "number",
            "count",
            "Tokens that its experts compute per step, over all layers and passes.",
            null_reason=NO_TOKENS,
        ),
        Column(
            "token_ratio",
            "Tokens / Mean",
            "number",
            "ratio",
            "Its tokens divided by the mean over the ranks that it shares experts with.",
            null_reason=f"{NO_TOKENS} Or: {ONE_RANK[0].lower()}{ONE_RANK[1:]}",
        ),
        _time("product_us", "GEMMs", "Time of the GEMMs of its experts.", family="gemms"),
        Column(
            "time_ratio",
            "Time / Mean",
            "number",
            "ratio",
            "Its GEMMs divided by their mean over the ranks that it shares experts with.",
            null_reason=ONE_RANK,
        ),
        Column("product_pct", "Of Step", "number", "pct", "GEMMs divided by the step time."),
        Column(
            "busiest_pct",
            "Busiest In",
            "number",
            "pct",
            "Share of the passes in which it has the most tokens, or, where these are unknown, the "
            "longest GEMMs; passes in which all ranks have the same do not count.",
            null_reason=ONE_RANK,
        ),
        _time(
            "routing_us",
            "Routing",
            "Time of the kernels that score experts and sort tokens.",
            family="gemms",
        ),
        *_DISPATCH_AND_COMBINE,
        _time(
            "wait_us",
            "Wait",
            "How long it waits per step for ranks whose GEMMs take longer.",
            family="cost",
            estimated=True,
        ),
    ),
    when_empty="No worker has work of experts in this selection.",
)

EXPERTS = TableSpec(
    "experts",
    "Where tokens go",
    "One row per rank that dispatches send tokens to, as the sizes of their parts say (torch "
    "records those of the first 30 ranks of a group), or per expert of a rank, where the inputs of "
    "grouped GEMMs list how many rows each has.",
    (
        Column(
            "receiver",
            "Receiver",
            "string",
            None,
            "rank: a rank that tokens are sent to. expert: an expert of a rank.",
        ),
        Column(
            "group",
            "Group",
            "string",
            None,
            "Process group of the dispatches; of experts empty.",
            hidden=True,
        ),
        Column(
            "rank", "Rank", "integer", None, "The rank; of a receiver from the group's members."
        ),
        Column(
            "expert", "Expert", "integer", None, "Number of the expert among those of its rank."
        ),
        Column(
            "senders",
            "Senders",
            "integer",
            "count",
            "Loaded ranks that send to it: tokens from others are not counted.",
        ),
        Column("tokens", "Tokens", "number", "count", "Tokens per step, over all passes."),
        Column(
            "token_ratio",
            "Tokens / Mean",
            "number",
            "ratio",
            "Divided by the mean of the ranks of the group, or of the experts of the rank.",
        ),
    ),
    sort="-token_ratio",
    when_empty="The recording does not say how many tokens each rank or expert gets: neither sizes "
    "of the parts of dispatches nor lists of sizes of grouped GEMMs.",
)

KERNELS = TableSpec(
    "expert_kernels",
    "Kernels of experts",
    "One row per kernel or collective of layers of experts, and what it does there.",
    (
        Column("stage", "Stage", "string", None, "What it does in a layer of experts."),
        Column("kernel", "Kernel", "string", None, "Short name of the kernel, or of the call."),
        Column("workers", "Workers", "integer", "count", "Workers on which it runs."),
        Column("calls", "Calls", "number", "count", "Calls per step and worker."),
        _time("total_us", "Time", "Sum of durations per step and worker.", family="kernel"),
        Column(
            "total_pct",
            "Share",
            "number",
            "pct",
            "Share of the time of all kernels of the table.",
        ),
        _time(
            "exposed_us",
            "Exposed",
            "Of a transfer, the part in which no kernel of the rank computes; where transfers "
            "overlap, the time counts for the first of them.",
            family="kernel",
        ),
    ),
    sort="-total_us",
    when_empty="No kernel of this selection is about experts.",
)

LOADS = TableSpec(
    "expert_loads",
    "Load per layer and rank",
    "One row per layer and worker: what the map of loads shows.",
    (
        _STAGE,
        _LAYER,
        _DIRECTION,
        WORKER,
        Column("tokens", "Tokens", "number", "count", "Tokens per step.", null_reason=NO_TOKENS),
        _time("product_us", "GEMMs", "Time of the GEMMs per step.", family="gemms"),
        Column(
            "load_ratio",
            "Load / Mean",
            "number",
            "ratio",
            "Its tokens, or, where these are unknown, its time, divided by the mean of the ranks "
            "that share these experts.",
            null_reason=ONE_RANK,
        ),
    ),
    is_summary=True,
    when_empty="No pass through a layer of experts is in this selection.",
)
