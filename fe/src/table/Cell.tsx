/** One cell: always text, never markup; the exact value or the reason on hover. */
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
  readonly id: string;
  readonly lead?: ReactNode;
  readonly leadWidth?: number;
  readonly tail?: ReactNode;
}

export function Cell({ view, row, width, active, id, lead, leadWidth = 0, tail }: Props) {
  const value = view.shown(row);
  const between = value === null ? view.bounds(row) : null;
  const text = between === null ? cellText(view, value) : boundsText(between);
  const isFaint = (value === null && between === null) || value === 0;
  const kind = `${view.numeric ? " number" : ""}${isFaint ? " null" : ""}${active ? " active" : ""}`;
  return (
    <div id={id} role="gridcell" className={`grid-cell${kind}`} style={{ width }} title={between === null ? rowTitle(view, row) : boundsTitle(between)}>
      {lead}
      {typeof value === "string" ? fitText(text, width - leadWidth) : text}
      {tail}
      {typeof value === "number" && view.column.unit === "pct" && <Bar view={view} value={value} />}
      {between !== null && <BoundsBar bounds={between} />}
    </div>
  );
}

/** Full as far as it is known, pale up to what it may be. */
function BoundsBar({ bounds: { least, most } }: { readonly bounds: Bounds }) {
  return (
    <>
      <i className="pct-bar maybe" style={{ width: `calc(${barShare(most)}% * 0.84)` }} />
      <i className="pct-bar" style={{ width: `calc(${barShare(least)}% * 0.84)` }} />
    </>
  );
}

function barShare(pct: number): number {
  return Math.min(100, Math.max(0, pct));
}

/** A share of a hundred from the left; a change (`delta_pct`) from the middle, to the side it goes. */
function Bar({ view, value }: { readonly view: ColumnView; readonly value: number }) {
  if (!isDelta(view.column)) {
    return <i className="pct-bar" style={{ width: `calc(${barShare(value)}% * 0.84)` }} />;
  }
  const half = (Math.min(100, Math.abs(value)) / 100) * 46;
  const style = value > 0 ? { left: "50%", width: `${half}%` } : { right: "50%", width: `${half}%` };
  const isWorse = value > 0 !== isRate(view.column);
  return <i className="delta-bar" style={{ ...style, background: isWorse ? "var(--bad)" : "var(--good)" }} />;
}
