/** The states of the last collectives of a group as a grid: a line per set of ranks that stand alike. */
import { useState } from "react";

import type { Table } from "../../api/types";
import { visibleText } from "../../lib/visibleText";
import { groupsOf, ranksText, stateGrid, type GridCell } from "./stateGrid";
import "./stateGrid.css";

interface Props {
  /** `hang_collectives`. */
  readonly table: Table;
}

/** States in the order of the legend, each with the letter that stands in its cell. */
const STATES: readonly (readonly [string, string])[] = [
  ["completed", "✓"],
  ["started", "▶"],
  ["scheduled", "…"],
  ["not entered", "✕"],
];

export function StateGridCard({ table }: Props) {
  const groups = groupsOf(table);
  const [chosen, setChosen] = useState<string | null>(null);
  const group = groups.find((each) => each === chosen) ?? groups[0];
  if (group === undefined) return null;
  const grid = stateGrid(table, group);
  return (
    <figure className="card chart state-grid" aria-label="States of the last collectives">
      <header>
        <h2 title="A line per set of ranks whose states and calls are the same in all of these collectives.">Last collectives: {visibleText(group)}</h2>
        {groups.length > 1 && (
          <select className="field" aria-label="Group" value={group} onChange={({ target }) => setChosen(target.value)}>
            {groups.map((each) => (
              <option key={each} value={each}>
                {visibleText(each)}
              </option>
            ))}
          </select>
        )}
      </header>
      <div className="body">
        <p className="legend soft">
          {STATES.map(([state, letter]) => (
            <span key={state}>
              <i className="state" data-state={state}>
                {letter}
              </i>{" "}
              {state}
            </span>
          ))}
          <span>
            <i className="state other" data-state="scheduled">
              ≠
            </i>{" "}
            another call than most ranks
          </span>
        </p>
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Ranks</th>
                {grid.sequences.map((sequence, index) => (
                  <th key={sequence} scope="col" className={index === grid.hang ? "hangs" : ""}>
                    #{sequence}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {grid.lines.map(({ ranks, cells }) => (
                <tr key={ranks[0]}>
                  <th scope="row">{ranksText(ranks)}</th>
                  {cells.map((cell, index) => (
                    <td key={grid.sequences[index]} className={index === grid.hang ? "hangs" : ""}>
                      {cell !== null && <State cell={cell} />}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
    </figure>
  );
}

function State({ cell }: { readonly cell: GridCell }) {
  const letter = cell.isOther ? "≠" : STATES.find(([state]) => state === cell.state)?.[1];
  const text = `${cell.state}${cell.call === "" ? "" : `: ${visibleText(cell.call)}`}`;
  return (
    <i className={cell.isOther ? "state other" : "state"} data-state={cell.state} title={text} role="img" aria-label={text}>
      {letter}
    </i>
  );
}
