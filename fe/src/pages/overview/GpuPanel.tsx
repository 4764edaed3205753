/** The utilization of each GPU, and their mean. */
import type { Fact, Table } from "../../api/types";
import { SwatchToggle, useHiddenSeries } from "../../chart/SwatchToggle";
import { exactValue, formatNumber } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";
import { deviceWord } from "./dashboardFacts";

/** More GPUs than this are only in the table. */
const MAX_SHOWN = 16;

interface Props {
  readonly gpus: Table;
  readonly facts: readonly Fact[];
}

export function GpuPanel({ gpus, facts }: Props) {
  const fact = (key: string) => facts.find((each) => each.key === key);
  const ofVisible = fact("gpu_utilization_mean_pct");
  const mean = ofVisible?.value === null ? fact("gpu_utilization_used_mean_pct") : ofVisible;
  const visible = fact("gpu_count")?.value;
  const unused = typeof visible === "number" ? visible - gpus.row_count : 0;
  // Of a rank of a job it is unknown: other ranks may use the other devices.
  const counted = ofVisible?.value === null ? gpus.row_count : gpus.row_count + unused;
  const column = gpus.columns.find(({ key }) => key === "utilization_pct");
  const word = deviceWord(gpus);
  const series = useHiddenSeries();
  return (
    <section className="card" aria-label={`${word} utilization`}>
      <header>
        <h2 title={column?.help}>{word} utilization</h2>
      </header>
      <div className="body">
        {gpus.row_count === 0 ? (
          <p className="soft">{mean?.reason ?? gpus.why_empty ?? `No ${word} ran work.`}</p>
        ) : (
          <table className="average uses">
            <thead className="soft">
              <tr>
                <td />
                <td />
                <th scope="col">
                  <SwatchToggle name={USED} mark={<i className="swatch use-used" />} series={series} />
                </th>
                <th scope="col">
                  <SwatchToggle name={IDLE} mark={<i className="swatch use-idle" />} series={series} />
                </th>
              </tr>
            </thead>
            <tbody>
              {gpus.rows.slice(0, MAX_SHOWN).map((row) => {
                const gpu = textOf(gpus, row, "gpu");
                const reason = gpus.null_reasons["utilization_pct"];
                return <Use key={gpu} name={`${word} ${gpu}`} pct={numberOf(gpus, row, "utilization_pct")} help={textOf(gpus, row, "name")} reason={reason} hidden={series.hidden} />;
              })}
              {mean !== undefined && counted > 1 && (
                <Use name={`Mean of ${counted}`} pct={asNumber(mean)} help={mean.help} reason={mean.reason ?? undefined} hidden={series.hidden} total />
              )}
            </tbody>
          </table>
        )}
        {gpus.row_count > MAX_SHOWN && <p className="soft uses-note">The first {MAX_SHOWN} of {gpus.row_count}; the table of {word}s has all.</p>}
        {gpus.row_count > 0 && unused > 0 && (
          <p className="soft uses-note">
            {unused === 1 ? `1 more ${word} is` : `${unused} more ${word}s are`} visible and not used in this recording. In a job of several processes others may use
            {unused === 1 ? " it" : " them"}.
          </p>
        )}
      </div>
    </section>
  );
}

function asNumber(fact: Fact): number | null {
  return typeof fact.value === "number" ? fact.value : null;
}

interface UseProps {
  readonly name: string;
  readonly pct: number | null;
  readonly help: string;
  readonly reason: string | undefined;
  readonly hidden: ReadonlySet<string>;
  readonly total?: boolean;
}

const USED = "Used";
const IDLE = "Idle";

function Use({ name, pct, help, reason, hidden, total = false }: UseProps) {
  const text = (value: number | null) => (value === null ? "–" : `${formatNumber(value, 1)} %`);
  const idle = pct === null ? null : Math.max(0, 100 - pct);
  const title = (value: number | null) => (value === null ? reason : exactValue(value, "pct"));
  return (
    <tr className={total ? "total" : undefined}>
      <th scope="row" title={help}>
        {name}
      </th>
      <td className="use-bar">
        <div className="split" aria-hidden="true">
          <i className={hidden.has(USED) ? undefined : "use-used"} style={{ width: `${pct ?? 0}%` }} />
          {!hidden.has(IDLE) && <i className="use-idle" style={{ width: `${idle ?? 0}%` }} />}
        </div>
      </td>
      <td title={title(pct)}>{text(pct)}</td>
      <td className="soft" title={title(idle)}>
        {text(idle)}
      </td>
    </tr>
  );
}
