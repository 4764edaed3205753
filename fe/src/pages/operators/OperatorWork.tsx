/** The device work of an operator: what it launched itself, and indented below inner operators what they launched. */
import type { Query } from "../../api/client";
import { NestedView } from "../NestedView";
import type { ViewContext } from "../ViewFrame";

interface Props {
  readonly context: ViewContext;
  /** The operator: an id, or a name. */
  readonly params: Query;
  /** Name of the open row. */
  readonly owner: string;
}

export function OperatorWork({ context, params, owner }: Props) {
  return (
    <NestedView
      context={context}
      view="kernels"
      table="operator_work"
      title="Launched work"
      groupBy="name"
      params={params}
      filter=""
      owner={owner}
      hidden={[]}
      emptyText="No kernel, copy or memset was launched in it in this selection."
    />
  );
}
