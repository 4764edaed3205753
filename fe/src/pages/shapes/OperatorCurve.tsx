/** Inside a row of the page Shapes: the time of its operator, or type, over all iterations. */
import { useView } from "../../api/hooks";
import { Chart } from "../../chart/Chart";
import { formatFilter } from "../../lib/grammar";
import type { ViewContext } from "../ViewFrame";
import { iterationCurves } from "./overIterations";

interface Props {
  readonly context: ViewContext;
  readonly table: string;
  /** The column that names it. */
  readonly column: string;
  readonly name: string;
}

/** More iterations than a chart needs. */
const MAX_ROWS = 5000;

export function OperatorCurve({ context, table, column, name }: Props) {
  const filter = formatFilter([{ key: column, operator: "=", value: name === "" ? "-" : name }]);
  const answer = useView(context.info.name, { ...context.query, iteration: null, table, filter, limit: MAX_ROWS });
  if (answer.state === "failed") return <p className="soft">{answer.failure.message}</p>;
  const rows = answer.state === "ready" ? answer.data.tables[table] : undefined;
  if (rows === undefined) return <p className="soft">Time over iterations …</p>;
  const chart = iterationCurves(rows);
  if (chart === null) return <p className="soft">Fewer than two iterations have a time.</p>;
  return <Chart title="Time over iterations" chart={chart} fileName={context.fileName(`iterations of ${name.slice(0, 60)}`)} height={220} />;
}
