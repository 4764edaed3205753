/** Step times measured without the profiler, over the run and as statistics. */
import { Chart } from "../../chart/Chart";
import { FactList } from "../Facts";
import type { ViewContext } from "../ViewFrame";
import { STATISTICS, stepCurve, stepKinds, throughputFacts } from "./throughput";

export function Throughput({ context: { view, fileName } }: { readonly context: ViewContext }) {
  const { throughput: table } = view.tables;
  const { timed_steps: curve } = view.series;
  if (table === undefined || table.row_count === 0) return null;
  const columns = STATISTICS.flatMap((key) => table.columns.filter((column) => column.key === key));
  return (
    <div className="throughput" data-table="throughput">
      {curve !== undefined && (
        <Chart
          title={curve.title}
          help="Each step from its start to the start of the next, measured by the timer; dashed lines mark where the profiler started."
          chart={stepCurve(curve)}
          fileName={fileName("timed_steps")}
          height={240}
        />
      )}
      <div className="throughput-figures">
        <section className="card" aria-label={table.title}>
          <header>
            <h2 title={table.help}>{table.title}</h2>
          </header>
          <div className="body">
            <table className="average">
              {stepKinds(table).map(({ name, steps, figures }) => (
                <tbody key={name}>
                  <tr className="soft">
                    <th scope="rowgroup">
                      {steps} {steps === 1 ? "step" : "steps"} of {name}
                    </th>
                    {columns.map(({ key, title, help }) => (
                      <th key={key} scope="col" title={help}>
                        {title}
                      </th>
                    ))}
                  </tr>
                  {figures.map(({ measure, texts }) => (
                    <tr key={measure}>
                      <th scope="row">{measure}</th>
                      {texts.map((text, index) => (
                        <td key={STATISTICS[index]} title={text === "–" ? table.null_reasons[STATISTICS[index] ?? ""] : undefined}>
                          {text}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              ))}
            </table>
          </div>
        </section>
        <FactList title="Timer and profiler" facts={throughputFacts(view.facts)} />
      </div>
    </div>
  );
}
