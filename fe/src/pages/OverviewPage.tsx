/** Where the time of a step went, and what to change: the answer first. */
import type { Fact, Table, View } from "../api/types";
import { Chart } from "../chart/Chart";
import { cssColor } from "../chart/palette";
import { digitsFor, exactValue, formatNumber, formatValue, NO_VALUE } from "../lib/format";
import { scaleFor } from "../lib/units";
import { navigate } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { BigFacts, FactList } from "./Facts";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";
import { cellOf, textOf } from "./rows";
import { stepChart, stepsInRange } from "./steps";
import { ViewFrame, type PageProps } from "./ViewFrame";

/** Facts shown large; the others are the environment. */
const BIG = /^(average_step_us|step_count|gpu_utilization_pct|est_sm_efficiency_pct|est_achieved_occupancy_pct|tensor_core_time_pct)$/;
/** Of more GPUs than this the table tells. */
const MAX_BIG_FACTS = 10;

export function OverviewPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {({ view, source, fileName }) => {
        const { average_step: average, steps, gpus } = view.tables;
        return (
          <>
            <BigFacts facts={bigFacts(view)} />
            <Findings notes={view.notes} always />
            <div className="chart-row">
              {steps !== undefined && (
                <Chart
                  title="Step time"
                  help={steps.help}
                  chart={stepChart(steps)}
                  fileName={fileName("steps")}
                  height={280}
                  onSelect={(range) => navigate({ steps: stepsInRange(steps, range), start_us: null, end_us: null })}
                />
              )}
              {average !== undefined && <AverageStep table={average} facts={view.facts} />}
            </div>
            {gpus !== undefined && gpus.row_count > 0 && (
              <DataTable name="overview.gpus" table={gpus} source={source("gpus")} address="gpus" fileName={fileName("gpus")} notes={view.notes} />
            )}
            <div className="columns">
              <QualityNotes notes={view.notes} always />
              <FactList title="Environment" facts={view.facts.filter((fact) => !BIG.test(fact.key))} />
            </div>
            {steps !== undefined && (
              <DataTable name="overview.steps" table={steps} source={source("steps")} address="steps" fileName={fileName("steps")} notes={view.notes} maxHeight="400px" />
            )}
          </>
        );
      }}
    </ViewFrame>
  );
}

function bigFacts(view: View): Fact[] {
  const big = view.facts.filter((fact) => BIG.test(fact.key));
  return big.length <= MAX_BIG_FACTS ? big : big.filter((fact) => fact.scope === null);
}

function AverageStep({ table, facts }: { readonly table: Table; readonly facts: readonly Fact[] }) {
  const rows = table.rows.map((row) => ({
    name: textOf(table, row, "category"),
    duration: numberOf(cellOf(table, row, "duration_us")),
    share: numberOf(cellOf(table, row, "pct")),
  }));
  const most = Math.max(0, ...rows.map((row) => row.duration ?? 0));
  const scale = scaleFor("us", most);
  const digits = digitsFor(most / scale.divisor, false);
  const total = facts.find((fact) => fact.key === "average_step_us");
  return (
    <section className="card" aria-label={table.title}>
      <header>
        <h2 title={table.help}>{table.title}</h2>
      </header>
      <div className="body">
        <div className="split" aria-hidden="true">
          {rows.map((row) => (
            <i key={row.name} style={{ width: `${row.share ?? 0}%`, background: cssColor(row.name) }} title={row.name} />
          ))}
        </div>
        <table className="average">
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <th scope="row">
                  <i className="swatch" style={{ background: cssColor(row.name) }} />
                  {row.name}
                </th>
                <td title={row.duration === null ? (table.null_reasons["duration_us"] ?? "Does not apply here.") : exactValue(row.duration, "us")}>{row.duration === null ? NO_VALUE : `${formatNumber(row.duration / scale.divisor, digits)} ${scale.label}`}</td>
                <td title={exactValue(row.share, "pct")}>{row.share === null ? NO_VALUE : `${formatNumber(row.share, 1)} %`}</td>
              </tr>
            ))}
            {total !== undefined && (
              <tr className="total">
                <th scope="row">Total</th>
                <td title={exactValue(total.value, total.unit)}>{formatValue(total.value, total.unit)}</td>
                <td />
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
