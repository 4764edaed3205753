/** One cell: always text, never markup; the exact value or the reason on hover. */
import type { ReactNode } from "react";

import type { Scalar } from "../api/types";
import { cellText, cellTitle, fitText, isDelta, type ColumnView } from "./columnView";

interface Props {
  readonly view: ColumnView;
  readonly value: Scalar;
  readonly width: number;
  readonly active: boolean;
  readonly id: string;
  readonly lead?: ReactNode;
  readonly leadWidth?: number;
}

export function Cell({ view, value, width, active, id, lead, leadWidth = 0 }: Props) {
  const text = cellText(view, value);
  const kind = `${view.numeric ? " number" : ""}${value === null || value === 0 ? " null" : ""}${active ? " active" : ""}`;
  return (
    <div id={id} role="cell" className={`grid-cell${kind}`} style={{ width }} title={cellTitle(view, value)}>
      {lead}
      {typeof value === "string" ? fitText(text, width - leadWidth) : text}
      {typeof value === "number" && view.column.unit === "pct" && <Bar view={view} value={value} />}
    </div>
  );
}

/** A share of a hundred from the left; a change (`delta_pct`) from the middle, to the side it goes. */
function Bar({ view, value }: { readonly view: ColumnView; readonly value: number }) {
  if (!isDelta(view.column)) {
    const share = Math.min(100, Math.max(0, value));
    return <i className="pct-bar" style={{ width: `calc(${share}% * 0.84)` }} />;
  }
  const half = (Math.min(100, Math.abs(value)) / 100) * 46;
  const style = value > 0 ? { left: "50%", width: `${half}%` } : { right: "50%", width: `${half}%` };
  return <i className="delta-bar" style={{ ...style, background: value > 0 ? "var(--bad)" : "var(--good)" }} />;
}
