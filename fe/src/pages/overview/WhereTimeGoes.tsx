/** Where the time goes: the first five operators and kernels, and communication, each with its way on. */
import type { Row, Table } from "../../api/types";
import { formatValue } from "../../lib/format";
import { cellOf, numberOf, textOf, topRows } from "../../lib/rows";
import { shortenMiddle } from "../../lib/shorten";
import { visibleText } from "../../lib/visibleText";
import { useNameMode } from "../../state/nameMode";
import { ViewLink } from "../../ui/ViewLink";
import { kernelLabel } from "../kernels/kernelLabel";
import { deviceWord } from "./dashboardFacts";
import { kernelLink, operatorLink, type Link } from "../links";
import { requestReveal } from "../reveal";
import type { ViewContext } from "../ViewFrame";

const SHOWN = 5;
const MAX_CHARACTERS = 48;

export function WhereTimeGoes({ context }: { readonly context: ViewContext }) {
  const { top_operators: operators, top_kernels: kernels, gpus, steps } = context.view.tables;
  const hasDevice = operators !== undefined && operators.rows.some((row) => (numberOf(operators, row, "device_self_us") ?? 0) > 0);
  // Beside the bar of one step, the sum over several would be read as a part of it.
  const note = (steps?.row_count ?? 0) > 1 ? "total, not per step" : "";
  return (
    <section className="where" aria-label="Where the time goes">
      {operators !== undefined && (
        <TopNames title={hasDevice ? `Operators by ${gpus === undefined ? "GPU" : deviceWord(gpus)} time` : "Operators by host time"} note={note} table={operators} by={hasDevice ? "device_self_us" : "host_self_us"} view="operators" link={operatorLink} name="top_operators" />
      )}
      {kernels !== undefined && <TopNames title="Kernels by time" note={note} table={kernels} by="total_us" view="kernels" link={kernelLink} name="top_kernels" />}
      <Communication context={context} />
    </section>
  );
}

interface TopProps {
  readonly title: string;
  readonly note: string;
  readonly table: Table;
  readonly by: string;
  readonly view: string;
  readonly name: string;
  readonly link: (name: string) => Link;
}

function TopNames({ title, note, table, by, view, name, link }: TopProps) {
  // GPU work without its launch belongs to no operator: its row has no calls.
  const isNamed = (row: Row) => cellOf(table, row, "calls") !== null;
  const top = topRows({ ...table, rows: table.rows.filter(isNamed) }, by, SHOWN);
  const [unknown] = topRows({ ...table, rows: table.rows.filter((row) => !isNamed(row)) }, by, 1);
  const largest = top[0]?.value ?? 0;
  if (largest === 0) return null;
  return (
    <div className="card" data-table={name}>
      <header>
        <h2>{title}</h2>
        {note !== "" && <span className="soft">{note}</span>}
        <span style={{ flex: 1 }} />
        <ViewLink view={view}>Show all</ViewLink>
      </header>
      <ol className="body top-names">
        {top.map(({ row, value }) => (
          <TopName key={textOf(table, row, "name")} row={row} value={value} {...{ table, largest, link }} />
        ))}
      </ol>
      {unknown !== undefined && <p className="body soft">And {formatValue(unknown.value, "us")} with no launch recorded.</p>}
    </div>
  );
}

interface NameProps extends Pick<TopProps, "table" | "link"> {
  readonly row: Row;
  readonly value: number;
  readonly largest: number;
}

function TopName({ table, link, row, value, largest }: NameProps) {
  const name = textOf(table, row, "name");
  const { view, params } = link(name);
  const mode = useNameMode();
  return (
    <li>
      <ViewLink view={view} params={params} onGo={requestReveal} title={visibleText(name)}>
        {shortenMiddle(visibleText(kernelLabel(table, row, mode)), MAX_CHARACTERS)}
      </ViewLink>
      <span>{formatValue(value, "us")}</span>
      <i aria-hidden="true" style={{ width: `${(value / largest) * 100}%` }} />
    </li>
  );
}

/** The communication that nothing hides, where there is any. */
function Communication({ context: { view, hasView } }: { readonly context: ViewContext }) {
  const table = view.tables["average_step"];
  const row = table?.rows.find((each) => textOf(table, each, "category") === "Communication");
  const us = table === undefined || row === undefined ? null : numberOf(table, row, "duration_us");
  if (table === undefined || row === undefined || us === null || us === 0) return null;
  return (
    <div className="card">
      <header>
        <h2>Communication</h2>
        <span style={{ flex: 1 }} />
        {hasView("distributed") && <ViewLink view="distributed">Show all</ViewLink>}
      </header>
      <p className="body">
        {formatValue(us, "us")} per step ({formatValue(numberOf(table, row, "pct"), "pct")}) is communication that no computation overlaps.
      </p>
    </div>
  );
}
