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

const PARTS = ["interval_us", "forward_us", "backward_us", "tail_us"];
const INSIDE = ["communication_hidden_us", "communication_exposed_us"];
const AFTER = ["communication_tail_us"];

export function stepDiagram(table: Table, row: Row): StepDiagram {
  const part = (key: string): StepPart => {
    const column = table.columns.find((each) => each.key === key);
    return {
      key,
      title: column?.title ?? key,
      help: column?.help ?? "",
      us: numberOf(table, row, key),
      pct: numberOf(table, row, key.replace(/_us$/, "_pct")),
      color: colorVariable(key),
      reason: table.null_reasons[key],
    };
  };
  const parts = PARTS.map(part);
  const share = (key: string) => parts.find((each) => each.key === key)?.pct ?? 0;
  const from = share("interval_us");
  return {
    totalUs: numberOf(table, row, "total_us"),
    parts,
    inside: INSIDE.map(part),
    after: AFTER.map(part),
    passes: { from, to: from + share("forward_us") + share("backward_us") },
  };
}
