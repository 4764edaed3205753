"""Alignment of module trees: what meets what when a model changes a little."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.views.compare.test_runs import searched as runs_by_search
from torch_tb_profiler.views.compare.alignment import align, tree_of

Tree = tuple[str, tuple["Tree", ...]]


def rows_of(*trees: Tree) -> tuple[list[str], list[int]]:
    names: list[str] = []
    parents: list[int] = []

    def add(tree: Tree, parent: int) -> None:
        names.append(tree[0])
        parents.append(parent)
        row = len(names) - 1
        for child in tree[1]:
            add(child, row)

    for tree in trees:
        add(tree, -1)
    return names, parents


def aligned(a: tuple[Tree, ...], b: tuple[Tree, ...]) -> list[tuple[str | None, str | None]]:
    (names_a, parents_a), (names_b, parents_b) = rows_of(*a), rows_of(*b)
    (nodes_a, roots_a), (nodes_b, roots_b) = (
        tree_of(names_a, parents_a),
        tree_of(names_b, parents_b),
    )
    found = align(nodes_a, nodes_b, (roots_a, roots_b))
    assert sorted(row for row in found.baseline if row >= 0) == list(range(len(names_a)))
    assert sorted(row for row in found.candidate if row >= 0) == list(range(len(names_b)))
    assert all(parent < row for row, parent in enumerate(found.parent))
    return [
        (names_a[left] if left >= 0 else None, names_b[right] if right >= 0 else None)
        for left, right in zip(found.baseline, found.candidate, strict=True)
    ]


def leaf(name: str) -> Tree:
    return (name, ())


def test_a_model_meets_itself() -> None:
    net = ("Net_0", (leaf("Conv_0"), ("Block_0", (leaf("Conv_1"),)), leaf("Conv_2")))
    assert aligned((net,), (net,)) == [
        (n, n) for n in ("Net_0", "Conv_0", "Block_0", "Conv_1", "Conv_2")
    ]


def test_numbers_that_shifted_do_not_part_modules() -> None:
    before = ("Net_0", (("Block_0", (leaf("Conv_0"),)), ("Block_1", (leaf("Conv_1"),))))
    after = (
        "Net_0",
        (("Block_0", (leaf("Conv_0"), leaf("Conv_1"))), ("Block_1", (leaf("Conv_2"),))),
    )
    assert aligned((before,), (after,)) == [
        ("Net_0", "Net_0"),
        ("Block_0", "Block_0"),
        ("Conv_0", "Conv_0"),
        (None, "Conv_1"),
        ("Block_1", "Block_1"),
        ("Conv_1", "Conv_2"),
    ]


def test_a_wrapper_is_taken_off() -> None:
    net = ("Net_0", (leaf("Conv_0"),))
    wrapped = ("DistributedDataParallel_0", (net,))
    assert aligned((net,), (wrapped,)) == [
        (None, "DistributedDataParallel_0"),
        ("Net_0", "Net_0"),
        ("Conv_0", "Conv_0"),
    ]
    assert aligned((wrapped,), (wrapped,))[0] == ("DistributedDataParallel_0",) * 2


def test_another_order_meets_by_name() -> None:
    a = ("Net_0", (leaf("Conv_0"), leaf("Relu_0"), leaf("Norm_0")))
    b = ("Net_0", (leaf("Norm_0"), leaf("Relu_0"), leaf("Conv_0")))
    assert set(aligned((a,), (b,))) == {(n, n) for n in ("Net_0", "Conv_0", "Relu_0", "Norm_0")}


def test_what_one_side_lacks_is_listed_with_all_inside() -> None:
    a = ("Net_0", (("Head_0", (leaf("Linear_0"),)),))
    assert aligned((a,), (leaf("Net_0"),)) == [
        ("Net_0", "Net_0"),
        ("Head_0", None),
        ("Linear_0", None),
    ]
    assert aligned((), (leaf("Net_0"),)) == [(None, "Net_0")]


trees = st.recursive(
    st.tuples(st.sampled_from(["A_0", "A_1", "B_0", "DataParallel_0"]), st.just(())),
    lambda inner: st.tuples(
        st.sampled_from(["A_0", "B_1", "DataParallel_0"]), st.lists(inner, max_size=4).map(tuple)
    ),
    max_leaves=12,
)


@given(st.lists(trees, max_size=3), st.lists(trees, max_size=3))
def test_every_module_of_both_sides_appears_once(a: list[Tree], b: list[Tree]) -> None:
    aligned(tuple(a), tuple(b))


@given(st.lists(trees, max_size=3))
def test_any_forest_meets_itself(a: list[Tree]) -> None:
    assert all(left == right for left, right in aligned(tuple(a), tuple(a)))


Siblings = list[Tree]
Pair = tuple[str | None, str | None]


def searched(a: Siblings, b: Siblings) -> list[Pair]:
    """Siblings without wrappers aligned by the rules as they are written: by the search through
    all runs of classes, what is left in order by name, then by class."""
    meeting: dict[int, int] = {}
    for run in runs_by_search([kind(tree) for tree in a], [kind(tree) for tree in b]):
        meeting |= {run.start_left + k: run.start_right + k for k in range(run.size)}
    for key in (lambda tree: tree[0], kind):
        for i, left in enumerate(a):
            for k, right in enumerate(b):
                if i not in meeting and k not in meeting.values() and key(left) == key(right):
                    meeting[i] = k
    pairs: list[Pair] = []
    for i, left in enumerate(a):
        name, below = b[meeting[i]] if i in meeting else (None, ())
        pairs.append((left[0], name))
        pairs += searched([*left[1]], [*below])
    for k, right in enumerate(b):
        if k not in meeting.values():
            pairs += [(None, right[0]), *searched([], [*right[1]])]
    return pairs


def kind(tree: Tree) -> str:
    return tree[0].partition("_")[0]


plain_trees = st.recursive(
    st.tuples(st.sampled_from(["A_0", "A_1", "B_0", "B_1", "C_0"]), st.just(())),
    lambda inner: st.tuples(
        st.sampled_from(["A_0", "B_1", "C_0"]), st.lists(inner, max_size=5).map(tuple)
    ),
    max_leaves=14,
)


@examples(40)
@given(st.lists(plain_trees, max_size=4), st.lists(plain_trees, max_size=4))
def test_random_trees_meet_as_the_rules_say(a: Siblings, b: Siblings) -> None:
    assert aligned(tuple(a), tuple(b)) == searched(a, b)


def test_thousands_of_siblings_meet() -> None:
    """By a set made anew for each of them, 4 000 took 3 s and these 12."""
    count = 8_000
    before = ("Net_0", tuple(leaf(f"Linear_{i}") for i in range(count)))
    after = ("Net_0", (leaf("Norm_0"), *(leaf(f"Linear_{i}") for i in range(count))))
    pairs = aligned((before,), (after,))
    assert pairs[1:-1] == [(f"Linear_{i}", f"Linear_{i}") for i in range(count)]
    assert pairs[-1] == (None, "Norm_0")
