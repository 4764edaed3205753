/** How close operators and the model come to the peaks of the device: the roofline, and its rows by operator or shape. */
import { useEffect, useState, type ReactNode } from "react";

import type { Row, Table } from "../api/types";
import { adjust, navigate, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import "./efficiency/efficiency.css";
import { numberOf, textOf } from "../lib/rows";
import { devicesOf, PEAK_KEY, parsePeaks, storedPeaks, storePeaks } from "./efficiency/peak";
import { PeakForm } from "./efficiency/PeakForm";
import { rowKey } from "./efficiency/plot";
import { RooflineCard } from "./efficiency/RooflineCard";
import { BigFacts, FactList } from "./Facts";
import { GroupBySwitch } from "./GroupBySwitch";
import { PageNotes } from "./PageNotes";
import { requestReveal } from "./reveal";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const POINTS = "roofline_points";
const ROOFLINE = "roofline";
const OPERATORS = "operators";
const LEADING: ReadonlySet<string> = new Set(["mfu_pct", "mfu_min_pct", "model_flops_per_step", "model_flops_min_per_step", "recoverable_us", "peak_tflops"]);
/** Parameter of the address with the row chosen in the plot and in the table. */
const CHOSEN_KEY = "row";

export function EfficiencyPage(props: PageProps) {
  const params = useParams();
  const run = { run: props.target.run.name };
  // Reads the stored peaks again when they changed, as the address may stay the same.
  const [, setVersion] = useState(0);
  const runPeaks = params[PEAK_KEY] === undefined ? storedPeaks(run) : null;
  const peak = params[PEAK_KEY] ?? runPeaks;
  // Into the address, so that a copied link has them.
  useEffect(() => {
    if (runPeaks !== null) adjust({ [PEAK_KEY]: runPeaks });
  }, [runPeaks]);
  const form = (isUnknown: boolean, devices: string | null) => (
    <PeakForm
      peaks={parsePeaks(peak)}
      isUnknown={isUnknown}
      onChange={(text) => {
        if (devices !== null) storePeaks({ devices }, text);
        storePeaks(run, text);
        setVersion((count) => count + 1);
        navigate({ [PEAK_KEY]: text });
      }}
    />
  );
  return (
    <ViewFrame {...props} extra={{ [PEAK_KEY]: peak }} head={(tab) => <GroupBySwitch info={props.info} tab={tab} />}>
      {(context) => <EfficiencyBody {...context} form={form} hasPeaks={peak !== null} onStoredPeaks={(text) => adjust({ [PEAK_KEY]: text })} chosen={params[CHOSEN_KEY] ?? null} />}
    </ViewFrame>
  );
}

interface BodyProps extends ViewContext {
  readonly form: (isUnknown: boolean, devices: string | null) => ReactNode;
  readonly hasPeaks: boolean;
  /** Called with peaks that the user entered for the same device in another run. */
  readonly onStoredPeaks: (text: string) => void;
  readonly chosen: string | null;
}

function EfficiencyBody({ view, target, tab, source, fileName, form, hasPeaks, onStoredPeaks, chosen }: BodyProps) {
  // The view may still be that of the previous trace, with other devices.
  const devices = view.trace.run === target.run.name && view.trace.worker === target.worker.name ? devicesOf(view.facts) : null;
  const devicePeaks = hasPeaks || devices === null ? null : storedPeaks({ devices });
  useEffect(() => {
    if (devicePeaks !== null) onStoredPeaks(devicePeaks);
  }, [devicePeaks, onStoredPeaks]);
  const known = view.facts.filter((fact) => fact.value !== null);
  const { roofline } = view.series;
  const points = view.tables[POINTS];
  const tables = Object.entries(view.tables).filter(([name, table]) => name !== POINTS && (table.row_count > 0 || name === "operators"));
  const choose = (id: string) => navigate({ [CHOSEN_KEY]: id });
  const hasPoints = points !== undefined;
  const operators = view.tables["operators"];
  // Without device time there is nothing to compare with a peak.
  const hasDeviceTime = operators?.rows.some((row) => numberOf(operators, row, "device_time_us") !== null) ?? false;
  const isRoofline = tab === ROOFLINE;
  return (
    <>
      {isRoofline && <BigFacts facts={known.filter(({ key }) => LEADING.has(key))} notes={view.notes} />}
      {/* Without peaks there is no roofline, and this is where to enter them. */}
      {(isRoofline || roofline === undefined) && hasPoints && hasDeviceTime && form(roofline === undefined, devices)}
      {isRoofline && roofline !== undefined && points !== undefined && points.row_count > 0 && (
        <RooflineCard
          series={roofline}
          table={points}
          chosen={chosen}
          onChoose={(id) => {
            navigate({ [CHOSEN_KEY]: id, tab: ROOFLINE, table: OPERATORS });
            requestReveal();
          }}
        />
      )}
      {tables.filter(([name]) => !isRoofline || name === OPERATORS).map(([name, table]) => (
        <DataTable
          key={`${name} ${view.selection.group_by ?? ""}`}
          name={`efficiency.${name}`}
          table={table}
          source={source(name)}
          address={name}
          fileName={fileName(name)}
          notes={view.notes}
          maxHeight="560px"
          {...(name === "operators" && hasPoints ? { rowId: idOf(table), choice: { id: chosen, onChoose: (row: Row) => choose(idOf(table)(row)) } } : {})}
        />
      ))}
      {isRoofline && <FactList facts={view.facts.filter(({ key }) => !LEADING.has(key))} title="Counted work" />}
      <PageNotes notes={view.notes} />
    </>
  );
}

function idOf(table: Table): (row: Row) => string {
  return (row) => rowKey(textOf(table, row, "name"), textOf(table, row, "input_shape"));
}
