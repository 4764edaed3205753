/** A cell: text, never markup; hovering shows the exact value or why it is missing. */
import type { ReactNode } from "react";

import type { Row } from "../api/types";
import { boundsText, boundsTitle, type Bounds } from "../lib/bounds";
import { cellText, isDelta, isRate, rowTitle, type ColumnView } from "./columnView";
import { fitText } from "./textWidth";

interface Props {
  readonly view: ColumnView;
  readonly row: Row;
  readonly width: number;
  readonly active: boolean;
  /** Whether a click opens or closes the row. */
  readonly opens: boolean;
  readonly id: string;
  readonly lead?: ReactNode;
  readonly leadWidth?: number;
  readonly tail?: ReactNode;
}

export function Cell({ view, row, width, active, opens, id, lead, leadWidth = 0, tail }: Props) {
  const value = view.shown(row);
  const bounds = value === null ? view.bounds(row) : null;
  const text = bounds === null ? cellText(view, value) : boundsText(bounds);
  const isFaint = (value === null && bounds === null) || value === 0;
  const kind = `${view.numeric ? " number" : ""}${isFaint ? " null" : ""}${active ? " active" : ""}${opens ? " opens" : ""}`;
  return (
    <div id={id} role="gridcell" className={`grid-cell${kind}`} style={{ width }} title={bounds === null ? rowTitle(view, row) : boundsTitle(bounds)}>
      {lead}
      {typeof value === "string" ? fitText(text, width - leadWidth) : text}
      {tail}
      {typeof value === "number" && view.column.unit === "pct" && <Bar view={view} value={value} />}
      {bounds !== null && <BoundsBar bounds={bounds} />}
    </div>
  );
}

/** Solid up to the lower bound, pale up to the upper one. */
function BoundsBar({ bounds: { min, max } }: { readonly bounds: Bounds }) {
  return (
    <>
      <i className="pct-bar maybe" style={{ width: `calc(${barShare(max)}% * 0.84)` }} />
      <i className="pct-bar" style={{ width: `calc(${barShare(min)}% * 0.84)` }} />
    </>
  );
}

function barShare(pct: number): number {
  return Math.min(100, Math.max(0, pct));
}

/** A percentage from the left; a change (`delta_pct`) from the middle, to its side. */
function Bar({ view, value }: { readonly view: ColumnView; readonly value: number }) {
  if (!isDelta(view.column)) {
    return <i className="pct-bar" style={{ width: `calc(${barShare(value)}% * 0.84)` }} />;
  }
  const half = (Math.min(100, Math.abs(value)) / 100) * 46;
  const style = value > 0 ? { left: "50%", width: `${half}%` } : { right: "50%", width: `${half}%` };
  const isWorse = value > 0 !== isRate(view.column);
  return <i className="delta-bar" style={{ ...style, background: isWorse ? "var(--bad)" : "var(--good)" }} />;
}
