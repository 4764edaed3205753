/** Which operators launch a kernel, each a link to its row, and the call stack of the one that launches most of it. */
import { useView } from "../../api/hooks";
import { formatFilter } from "../../lib/grammar";
import { textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { PAGE_ROWS } from "../../table/useRows";
import { ViewLink } from "../../ui/ViewLink";
import { operatorLink } from "../links";
import { CallStacks } from "../operators/CallStacks";
import type { ViewContext } from "../ViewFrame";

interface Props {
  readonly context: ViewContext;
  /** The recorded name of the kernel. */
  readonly kernel: string;
  /** The operator of the row; empty where the row is all launches of the kernel. */
  readonly operator: string;
}

export function LaunchedBy({ context, kernel, operator }: Props) {
  const names = useOperators(context, operator === "" ? kernel : null);
  const [first, ...others] = operator === "" ? names : [operator];
  if (first === undefined || !context.hasView("operators")) return null;
  return (
    <>
      <p>
        Launched by{" "}
        {[first, ...others].map((name, index) => (
          <span key={name}>
            {index > 0 && ", "}
            <ViewLink {...operatorLink(name)}>{visibleText(name)}</ViewLink>
          </span>
        ))}
      </p>
      <CallStacks context={context} name={first} />
    </>
  );
}

/** Operators that launch the kernel, most device time first: the rows that the table below shows. */
function useOperators(context: ViewContext, kernel: string | null): readonly string[] {
  const filter = formatFilter([{ key: "name", operator: "=", value: kernel ?? "" }]);
  const answer = useView(kernel === null ? null : "kernels", { ...context.query, group_by: "name+operator+launch", table: "kernels", filter, limit: PAGE_ROWS });
  const table = answer.state === "ready" ? answer.data.tables["kernels"] : undefined;
  if (table === undefined) return [];
  return [...new Set(table.rows.map((row) => textOf(table, row, "operator")).filter((name) => name !== ""))];
}
