/** The menu that shows and hides columns, with their help and why they are hidden. */
import { useState } from "react";

import { HelpLink, isOnSite } from "../ui/HelpLink";
import type { ColumnLayout } from "./columnLayout";
import type { ColumnView } from "./columnView";

interface Props {
  readonly views: readonly ColumnView[];
  readonly layout: ColumnLayout;
  /** By column key, why the column is hidden by default. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Where the documentation describes the table, and with a dot and the key a column; null for nowhere. */
  readonly helpUrl: string | null;
}

/** From this many columns on the menu has a search field. */
const SEARCH_FROM = 15;

export function ColumnMenu({ views, layout, reasons, helpUrl }: Props) {
  const [search, setSearch] = useState("");
  const text = search.trim().toLowerCase();
  const matches = views.filter(({ column }) => `${column.title} ${column.help}`.toLowerCase().includes(text));
  const hasSite = helpUrl !== null && isOnSite(helpUrl);
  return (
    <div className="menu">
      {views.length > SEARCH_FROM && (
        <input
          type="search"
          className="field"
          placeholder="Search the columns"
          aria-label="Search the columns"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
      )}
      {matches.map(({ column }) => (
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
          <small>
            {column.help}
            {hasSite && (
              <>
                {" "}
                <HelpLink address={`${helpUrl}.${column.key}`}>More</HelpLink>
              </>
            )}
          </small>
          {reasons.has(column.key) && (
            <small>
              <b>Hidden by default:</b> {reasons.get(column.key)}
            </small>
          )}
        </label>
      ))}
      {matches.length === 0 && <small>No column matches.</small>}
      {helpUrl !== null && !hasSite && (
        <small>
          More: <HelpLink address={helpUrl}>documentation</HelpLink>
        </small>
      )}
      <button type="button" className="button" disabled={!layout.isChosen} onClick={layout.reset}>
        Reset columns and widths
      </button>
    </div>
  );
}
