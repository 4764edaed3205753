/** The memory map of an allocator: a row per segment, with its blocks coloured by state. */
import { useMemo, useState, type KeyboardEvent } from "react";

import type { Row, Table } from "../../api/types";
import { formatValue } from "../../lib/format";
import { textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { Segmented } from "../../ui/Segmented";
import { StackDetail } from "../RowDetail";
import { devicesOf, MAX_SEGMENTS, segmentsOf, stateClass, type MapBlock, type MapSegment } from "./map";

interface Props {
  readonly segments: Table;
  readonly blocks: Table;
}

const STATES = { used: "in use", pending: "waiting for another stream", free: "free" } as const;

export function SegmentMap({ segments, blocks }: Props) {
  const devices = devicesOf(segments);
  const [chosenDevice, setDevice] = useState<string | null>(null);
  const device = devices.find((each) => each === chosenDevice) ?? devices[0] ?? null;
  const drawn = useMemo(() => segmentsOf(segments, blocks, device), [segments, blocks, device]);
  const [chosen, setChosen] = useState<Row | null>(null);
  const all = drawn.flatMap((segment) => segment.blocks.map(({ row }) => row));
  // One tab stop; arrow keys move from there.
  const entry = chosen !== null && all.includes(chosen) ? chosen : (all[0] ?? null);
  const step = (event: KeyboardEvent<HTMLElement>) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = by === undefined || entry === null ? undefined : all[all.indexOf(entry) + by];
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
    event.currentTarget.querySelectorAll<HTMLElement>("button.segment-block")[all.indexOf(next)]?.focus();
  };
  const partNote = blocks.row_count > blocks.rows.length ? ` Only the ${blocks.rows.length} largest of ${blocks.row_count} blocks are drawn.` : "";
  return (
    <section className="card" aria-label="Memory map">
      <header>
        <h2 title="One row per segment, from its beginning to its end; each row has its own scale.">Memory map</h2>
        <Segmented label="Device" values={devices} value={device ?? ""} onPick={setDevice} />
      </header>
      <div className="body">
        <ul className="segment-legend">
          {Object.entries(STATES).map(([state, text]) => (
            <li key={state}>
              <i className={`segment-block ${state}`} /> {text}
            </li>
          ))}
        </ul>
        <p className="soft">
          The {Math.min(MAX_SEGMENTS, drawn.length)} largest segments, each to its own scale; click a block for its call stack.{partNote}
        </p>
        <div className="segment-rows" role="group" aria-label="Blocks; arrow keys move between them" onKeyDown={step}>
          {drawn.map((segment) => (
            <SegmentRow key={segment.number} segment={segment} chosen={chosen} entry={entry} onChoose={setChosen} />
          ))}
        </div>
        {chosen !== null && <ChosenBlock table={blocks} row={chosen} />}
      </div>
    </section>
  );
}

interface RowProps {
  readonly segment: MapSegment;
  readonly chosen: Row | null;
  /** The block that the tab key reaches. */
  readonly entry: Row | null;
  readonly onChoose: (row: Row) => void;
}

function SegmentRow({ segment, chosen, entry, onChoose }: RowProps) {
  const used = segment.usedPct === null ? "" : `, ${formatValue(segment.usedPct, "pct")} in use`;
  return (
    <div className="segment-row">
      <span className="soft">{`#${segment.number}: ${formatValue(segment.size, "bytes")}${used}`}</span>
      <div className="segment-bar">
        {segment.blocks.map((block) => (
          <Block key={block.offset} block={block} size={segment.size} isChosen={block.row === chosen} isEntry={block.row === entry} onChoose={onChoose} />
        ))}
      </div>
    </div>
  );
}

interface BlockProps {
  readonly block: MapBlock;
  readonly size: number;
  readonly isChosen: boolean;
  readonly isEntry: boolean;
  readonly onChoose: (row: Row) => void;
}

function Block({ block, size, isChosen, isEntry, onChoose }: BlockProps) {
  const state = stateClass(block.state);
  const text = `${formatValue(block.size, "bytes")} at ${formatValue(block.offset, "bytes")}, ${state === "used" ? STATES.used : state === "free" ? STATES.free : STATES.pending}`;
  return (
    <button
      type="button"
      tabIndex={isEntry ? 0 : -1}
      aria-pressed={isChosen}
      className={`segment-block ${state}${isChosen ? " chosen" : ""}`}
      style={{ left: `${(100 * block.offset) / size}%`, width: `${(100 * block.size) / size}%` }}
      title={text}
      aria-label={text}
      onClick={() => onChoose(block.row)}
    />
  );
}

function ChosenBlock({ table, row }: { readonly table: Table; readonly row: Row }) {
  const stack = textOf(table, row, "call_stack");
  const frame = textOf(table, row, "frame");
  return (
    <div role="status">
      <h3>{visibleText(`${textOf(table, row, "address")}: ${formatValue(Number(textOf(table, row, "size_bytes")), "bytes")}`)}</h3>
      {stack === "" ? <p className="soft">{visibleText(frame === "" ? "The snapshot has no call stack for it." : frame)}</p> : <StackDetail stack={stack} />}
    </div>
  );
}
