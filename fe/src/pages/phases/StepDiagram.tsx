/** A diagram of a step to scale: interval, forward, backward, tail, with collectives below. */
import { Fragment, type ReactNode } from "react";

import { Swatch, SwatchToggle, useHiddenSeries, type HiddenSeries } from "../../chart/SwatchToggle";
import { PLAIN_COLUMN } from "../../lib/columns";
import { toCsv } from "../../lib/csv";
import { saveFile } from "../../lib/download";
import { exactValue, formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import type { StepDiagram as Diagram, StepPart } from "./stepParts";

interface Props {
  readonly title: string;
  readonly help: string;
  readonly diagram: Diagram;
  readonly fileName: string;
  /** The choice of the step. */
  readonly choice: ReactNode;
  /** The mean step, whose parts stand beside those of a single one. */
  readonly mean?: Diagram | undefined;
}

/** Parts with a smaller share of the step have no name above them. */
const NAMED_PCT = 9;

export function StepDiagram({ title, help, diagram, choice, mean, fileName }: Props) {
  const { parts, inside, after, passes, totalUs } = diagram;
  const series = useHiddenSeries();
  // In a picture to scale hidden parts leave their place empty.
  const fill = (part: StepPart) => (series.hidden.has(part.title) ? undefined : `var(${part.color})`);
  const hasCollectives = [...inside, ...after].some(({ us }) => us !== null && us > 0);
  return (
    <figure className="card step-diagram" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        <span style={{ flex: 1 }} />
        <button type="button" className="button no-print" onClick={() => saveFile(`${fileName}.csv`, "text/csv;charset=utf-8", diagramCsv(diagram))}>
          CSV
        </button>
      </header>
      <div className="body">
        {choice !== null && <div className="step-choice">{choice}</div>}
        <div className="step-drawing" aria-hidden="true">
          <div className="step-names">
            {parts.map((part) => (
              <span key={part.key} style={{ width: width(part) }}>
                {(part.pct ?? 0) >= NAMED_PCT && part.title}
              </span>
            ))}
          </div>
          <div className="step-bar">
            {parts.map((part) => (
              <i key={part.key} style={{ width: width(part), background: fill(part) }} title={partTitle(part)} />
            ))}
          </div>
          {hasCollectives && (
            <div className="step-collectives">
              <div style={{ left: `${passes.from}%`, width: `${Math.max(0, passes.to - passes.from)}%` }}>
                {inside.map((part) => (
                  <i key={part.key} style={{ width: shareOf(part, passes.to - passes.from), background: fill(part) }} title={partTitle(part)} />
                ))}
              </div>
              <div style={{ left: `${passes.to}%`, width: `${Math.max(0, 100 - passes.to)}%` }}>
                {after.map((part) => (
                  <i key={part.key} style={{ width: shareOf(part, 100 - passes.to), background: fill(part) }} title={partTitle(part)} />
                ))}
              </div>
            </div>
          )}
          <div className="step-scale">
            <span>0</span>
            <span>{totalUs === null ? "" : formatValue(totalUs, "us")}</span>
          </div>
        </div>
        <table className="average">
          {mean !== undefined && (
            <thead>
              <tr>
                <th scope="col">Part</th>
                <th scope="col" colSpan={2}>
                  {title}
                </th>
                <th scope="col" colSpan={2}>
                  Mean
                </th>
              </tr>
            </thead>
          )}
          <tbody>
            {parts.map((part, index) => (
              <PartRow key={part.key} part={part} series={series} mean={mean?.parts[index]} />
            ))}
            <tr className="total">
              <th scope="row">Step</th>
              <td title={exactValue(totalUs, "us")}>{formatValue(totalUs, "us")}</td>
              <td />
              {mean !== undefined && (
                <>
                  <td title={exactValue(mean.totalUs, "us")}>{formatValue(mean.totalUs, "us")}</td>
                  <td />
                </>
              )}
            </tr>
            {hasCollectives && (
              <Fragment>
                {[...inside, ...after].map((part, index) => (
                  <PartRow key={part.key} part={part} series={series} mean={mean === undefined ? undefined : [...mean.inside, ...mean.after][index]} />
                ))}
              </Fragment>
            )}
          </tbody>
        </table>
        {hasCollectives && <p className="soft">Collectives are part of the step above; their bar shows how long they took, not when.</p>}
      </div>
    </figure>
  );
}

interface PartRowProps {
  readonly part: StepPart;
  readonly mean: StepPart | undefined;
  readonly series: HiddenSeries;
}

function PartRow({ part, mean, series }: PartRowProps) {
  return (
    <tr title={part.help} className={series.hidden.has(part.title) ? "soft" : undefined}>
      <th scope="row">
        <SwatchToggle name={part.title} mark={<Swatch color={part.color} />} series={series} />
      </th>
      <PartCells part={part} />
      {mean !== undefined && <PartCells part={mean} />}
    </tr>
  );
}

function PartCells({ part }: { readonly part: StepPart }) {
  return (
    <>
      <td title={part.us === null ? part.reason : exactValue(part.us, "us")}>{formatValue(part.us, "us")}</td>
      <td title={part.pct === null ? part.reason : exactValue(part.pct, "pct")}>{formatValue(part.pct, "pct")}</td>
    </>
  );
}

function width({ pct }: StepPart): string {
  return `${pct ?? 0}%`;
}

/** The width of a part inside a range that is `whole` percent of the step. */
function shareOf({ pct }: StepPart, whole: number): string {
  return whole <= 0 ? "0" : `${Math.min(100, ((pct ?? 0) / whole) * 100)}%`;
}

function partTitle({ title, us, pct }: StepPart): string {
  return `${visibleText(title)}: ${formatValue(us, "us")}, ${formatValue(pct, "pct")} of the step`;
}

function diagramCsv({ parts, inside, after }: Diagram): string {
  const column = (key: string) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN });
  return toCsv(["part", "duration_us", "pct"].map(column), [...parts, ...inside, ...after].map(({ title, us, pct }) => [title, us, pct]));
}
