/** Layout of a flame graph in which one box fills the width. */
export interface FlameNode {
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
}

export interface FlameBox {
  readonly node: FlameNode;
  /** Shares of the width, 0–100. */
  readonly leftPct: number;
  readonly widthPct: number;
}

/** Narrower boxes cannot be seen or clicked; zooming in shows them. */
const MIN_WIDTH_PCT = 0.05;

/** The visible boxes when `focus` (or, with null, everything) fills the width. */
export function flameBoxes(nodes: readonly FlameNode[], focus: string | null): FlameBox[] {
  const focused = focus === null ? undefined : nodes.find((node) => node.id === focus);
  const end = Math.max(0, ...nodes.map((node) => node.left + node.width));
  const window = focused === undefined ? { left: 0, right: end } : { left: focused.left, right: focused.left + focused.width };
  const span = window.right - window.left;
  if (span <= 0) return [];
  return nodes.flatMap((node) => {
    const left = Math.max(node.left, window.left);
    const right = Math.min(node.left + node.width, window.right);
    const widthPct = (100 * (right - left)) / span;
    if (widthPct < MIN_WIDTH_PCT) return [];
    return [{ node, leftPct: (100 * (left - window.left)) / span, widthPct }];
  });
}
