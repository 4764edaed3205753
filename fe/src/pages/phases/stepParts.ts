/** The parts of the step diagram, from a row of the step trace. */
import type { Row, Table } from "../../api/types";
import { colorVariable } from "../../chart/palette";
import { numberOf } from "../../lib/rows";

export interface StepPart {
  readonly key: string;
  readonly title: string;
  readonly help: string;
  /** Microseconds; null when unknown. */
  readonly us: number | null;
  /** Of the step. */
  readonly pct: number | null;
  /** The CSS variable of its colour. */
  readonly color: string;
  /** Why it is null. */
  readonly reason: string | undefined;
}

export interface StepDiagram {
  readonly totalUs: number | null;
  /** In order of time; their sum is the step. */
  readonly parts: readonly StepPart[];
  /** Collectives inside forward and backward: amounts, not positions. */
  readonly inside: readonly StepPart[];
  /** Collectives after the last pass. */
  readonly after: readonly StepPart[];
  /** Where forward begins and backward ends, in % of the step. */
  readonly passes: { readonly from: number; readonly to: number };
}

/** The columns of a table with a row per step. */
interface Keys {
  readonly parts: readonly string[];
  readonly inside: readonly string[];
  readonly after: readonly string[];
}

const COMPUTED: Keys = {
  parts: ["interval_us", "forward_us", "backward_us", "tail_us"],
  inside: ["communication_hidden_us", "communication_exposed_us"],
  after: ["communication_tail_us"],
};
/** MindSpore's own file has both passes as one, and all communication. */
const RECORDED: Keys = { parts: ["interval_us", "forward_backward_us", "tail_us"], inside: ["communication_us"], after: [] };

const TOTAL = "total_us";

/** From a row of the step trace. */
export function stepDiagram(table: Table, row: Row): StepDiagram {
  return diagramOf(table, row, COMPUTED);
}

/** The same where nothing shows when backward begins: forward holds both passes. */
export function undividedStepDiagram(table: Table, row: Row): StepDiagram {
  const diagram = diagramOf(table, row, { ...COMPUTED, parts: ["interval_us", "forward_us", "tail_us"] });
  return { ...diagram, parts: diagram.parts.map((part) => (part.key === "forward_us" ? { ...part, title: "Forward and Backward" } : part)) };
}

/** From a row of the step trace that a file of the recording holds. Its collectives may reach into the tail. */
export function recordedStepDiagram(table: Table, row: Row): StepDiagram {
  const diagram = diagramOf(table, row, RECORDED);
  return { ...diagram, passes: { from: diagram.passes.from, to: 100 } };
}

function diagramOf(table: Table, row: Row, keys: Keys): StepDiagram {
  const totalUs = numberOf(table, row, TOTAL);
  const part = (key: string): StepPart => {
    const column = table.columns.find((each) => each.key === key);
    const us = numberOf(table, row, key);
    return {
      key,
      title: column?.title ?? key,
      help: column?.help ?? "",
      us,
      pct: us === null || totalUs === null || totalUs === 0 ? null : (us / totalUs) * 100,
      color: colorVariable(COLORS[key] ?? key),
      reason: table.null_reasons[key],
    };
  };
  const parts = keys.parts.map(part);
  const from = parts[0]?.pct ?? 0;
  const to = from + parts.slice(1, -1).reduce((sum, { pct }) => sum + (pct ?? 0), 0);
  return { totalUs, parts, inside: keys.inside.map(part), after: keys.after.map(part), passes: { from, to } };
}

/** Keys whose colour is that of another. */
const COLORS: Readonly<Record<string, string>> = { forward_backward_us: "forward_and_backward" };
