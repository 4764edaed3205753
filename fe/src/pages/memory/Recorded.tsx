/** Memory as files of a recording without memory events state it: over the operators of each graph, and over time. */
import { Chart } from "../../chart/Chart";
import { seriesChart } from "../../chart/chartData";
import { adjust, useParams } from "../../state/urlStore";
import { Segmented } from "../../ui/Segmented";
import type { ViewContext } from "../ViewFrame";
import { graphChart } from "./graphChart";

/** Parameter of the address with the position of the operator whose live tensors are listed. */
export const AT_OPERATOR = "at_operator";

export function Recorded({ context }: { readonly context: ViewContext }) {
  const { view, fileName } = context;
  const params = useParams();
  const operators = view.series["memory_of_operators"];
  const totals = view.series["memory_totals"];
  const graphs = operators?.lines.map((line) => line.name) ?? [];
  const graph = graphs.find((name) => name === params["graph"]) ?? graphs[0];
  const at = params[AT_OPERATOR] ?? null;
  return (
    <>
      {operators !== undefined && graph !== undefined && (
        <Chart
          title={operators.title}
          help="Static memory and live tensors while each operator runs. A click lists the tensors that are live there."
          chart={graphChart(operators, view, graph, at)}
          fileName={fileName("memory_of_operators")}
          height={300}
          onPickX={(x) => adjust({ [AT_OPERATOR]: String(Math.max(0, Math.floor(x))) })}
          extra={
            <>
              {graphs.length > 1 && <Segmented label="Graph" values={graphs} value={graph} onPick={(name) => adjust({ graph: name === graphs[0] ? null : name })} />}
              {at === null ? (
                <span className="soft">click an operator to see its live tensors</span>
              ) : (
                <>
                  <span className="soft">the table lists what is live at operator {at}</span>
                  <button type="button" className="button" onClick={() => adjust({ [AT_OPERATOR]: null })}>
                    All tensors
                  </button>
                </>
              )}
            </>
          }
        />
      )}
      {totals !== undefined && <Chart title={totals.title} chart={seriesChart(totals)} fileName={fileName("memory_totals")} height={280} />}
    </>
  );
}
