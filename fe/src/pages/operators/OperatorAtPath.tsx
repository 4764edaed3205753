/** The detail of an operator at its path in the call tree: the path, and its kernels. */
import { visibleText } from "../../lib/visibleText";
import { CopyButton } from "../../ui/CopyButton";
import { NestedView } from "../NestedView";
import type { ViewContext } from "../ViewFrame";

interface Props {
  readonly context: ViewContext;
  /** Id of the operator at this path. */
  readonly operatorId: string;
  readonly path: string;
}

/** Columns that are redundant for one operator, or about launches. */
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

/** Its kernels include those of operators inside it. */
export function OperatorAtPath({ context, operatorId, path }: Props) {
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
      owner={path}
      hidden={HIDDEN}
      emptyText="It launched no kernel in this selection."
    />
  );
}
