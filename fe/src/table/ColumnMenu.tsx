/** Which columns are shown: each with what it means, and why it is hidden. */
import { useState } from "react";

import type { ColumnLayout } from "./columnLayout";
import type { ColumnView } from "./columnView";

interface Props {
  readonly views: readonly ColumnView[];
  readonly layout: ColumnLayout;
  /** By column key why it is hidden at first. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** More columns than this are searched. */
const MANY = 15;

export function ColumnMenu({ views, layout, reasons }: Props) {
  const [wanted, setWanted] = useState("");
  const text = wanted.trim().toLowerCase();
  const found = views.filter(({ column }) => `${column.title} ${column.help}`.toLowerCase().includes(text));
  return (
    <div className="menu">
      {views.length > MANY && (
        <input
          type="search"
          className="field"
          placeholder="Search the columns"
          aria-label="Search the columns"
          value={wanted}
          onChange={({ target }) => setWanted(target.value)}
        />
      )}
      {found.map(({ column }) => (
        <label key={column.key}>
          <input
            type="checkbox"
            checked={!layout.hidden.has(column.key)}
            onChange={({ target }) => layout.hide(column.key, !target.checked)}
          />
          <span>
            {column.title}
            {column.estimated && <i className="soft"> est.</i>}
          </span>
          <small>{column.help}</small>
          {reasons.has(column.key) && (
            <small>
              <b>Hidden at first:</b> {reasons.get(column.key)}
            </small>
          )}
        </label>
      ))}
      {found.length === 0 && <small>No column is called so.</small>}
      <button type="button" className="button" disabled={!layout.isChosen} onClick={layout.reset}>
        Reset columns and widths
      </button>
    </div>
  );
}
