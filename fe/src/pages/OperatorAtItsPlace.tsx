/** An operator at its place, in an open row: its path, and its kernels. */
import { visibleText } from "../lib/visibleText";
import { CopyButton } from "../ui/CopyButton";
import { NestedView } from "./NestedView";
import type { ViewContext } from "./ViewFrame";

interface Props {
  readonly context: ViewContext;
  /** An operator at its place. */
  readonly operatorId: string;
  readonly path: string;
}

/** Columns that say nothing here: the operator is known, and how they were launched is asked for elsewhere. */
const HIDDEN = [
  "operator",
  "grid",
  "block",
  "registers_per_thread",
  "shared_memory_bytes",
  "operator_tensor_core_eligible",
  "communication",
  "mean_blocks_per_sm",
  "mean_est_achieved_occupancy_pct",
  "cumulative_pct",
];

/** Its kernels are those launched inside its calls, operators inside included. */
export function OperatorAtItsPlace({ context, operatorId, path }: Props) {
  return (
    <>
      <p className="full-name">
        {visibleText(path)} <CopyButton text={path} />
      </p>
      {context.hasView("kernels") && <Kernels context={context} operatorId={operatorId} path={path} />}
    </>
  );
}

function Kernels({ context, operatorId, path }: Props) {
  return (
    <NestedView
      context={context}
      view="kernels"
      table="kernels"
      title="Launched kernels"
      groupBy="name"
      params={{ operator_id: operatorId }}
      filter=""
      of={path}
      hidden={HIDDEN}
      none="It launched no kernel in this selection."
    />
  );
}
