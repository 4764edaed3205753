/** Where an operator is called from: its most expensive call stack with frames that jump to the source, then the others. */
import { useView } from "../../api/hooks";
import { formatFilter } from "../../lib/grammar";
import { textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { PAGE_ROWS } from "../../table/useRows";
import { StackView } from "../../source/StackView";
import { NestedView } from "../NestedView";
import { StackDetail } from "../RowDetail";
import type { ViewContext } from "../ViewFrame";

interface Props {
  readonly context: ViewContext;
  /** The name of the operator. */
  readonly name: string;
  /** Only calls with these input shapes; empty for all. */
  readonly shape?: string;
}

/** The code that calls an operator is near it; below that is what started the program. */
const SHOWN_FRAMES = 12;
const HIDDEN = ["name", "input_shape", "kind", "direction", "type", "host_python_us", "tensor_core_eligible", "tensor_core_self_pct", "tensor_core_total_pct", "cumulative_pct"];

export function CallStacks({ context, name, shape = "" }: Props) {
  const groupBy = shape === "" ? "name+call_stack" : "name+input_shape+call_stack";
  const sameShape = shape === "" ? [] : [{ key: "input_shape", operator: "=" as const, value: shape }];
  const filter = formatFilter([{ key: "name", operator: "=", value: name }, ...sameShape, { key: "call_stack", operator: "!=", value: "-" }]);
  const answer = useView(context.hasView("operators") ? "operators" : null, { ...context.query, group_by: groupBy, table: "operators", filter, limit: PAGE_ROWS });
  const table = answer.state === "ready" ? answer.data.tables["operators"] : undefined;
  const first = table?.rows[0];
  if (table === undefined) return null;
  if (first === undefined) return <p className="soft">Call stacks: No call stack was recorded (with_stack=True records them).</p>;
  const stacks = table.row_count;
  return (
    <section aria-label="Call stack">
      <h3>Call stack of {visibleText(name)}, innermost first</h3>
      {stacks > 1 && <p className="soft">The one that takes the most time, of {stacks}.</p>}
      <StackView stack={textOf(table, first, "call_stack")} shownFrames={SHOWN_FRAMES} />
      {stacks > 1 && (
        <NestedView
          context={context}
          view="operators"
          table="operators"
          title="Call stacks"
          groupBy={groupBy}
          filter={filter}
          owner={name}
          hidden={HIDDEN}
          emptyText={null}
          detail={(nested, row) => <StackDetail stack={textOf(nested, row, "call_stack")} />}
        />
      )}
    </section>
  );
}
