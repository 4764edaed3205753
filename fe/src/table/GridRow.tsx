/** A row of a table, and the detail below an open one. */
import type { CSSProperties, ReactNode } from "react";

import { copyText } from "../lib/download";
import { CopyIcon } from "../ui/icons";
import { useBriefMessage } from "../ui/useBriefMessage";
import { Cell } from "./Cell";
import type { MenuTarget } from "./CellMenu";
import type { ColumnLayout } from "./columnLayout";
import { exactCell } from "./columnView";
import type { GridState, Position } from "./gridKeys";
import { treeProps, type GridItem } from "./gridLines";
import { INDENT_PX } from "./tree";

const TWISTY_PX = 24;

interface RowProps {
  readonly grid: GridState;
  readonly item: GridItem;
  /** Index of the item among all. */
  readonly itemIndex: number;
  readonly rowIndex: number;
  readonly style: CSSProperties;
  readonly active: Position | null;
  readonly cellId: (position: Position) => string;
  readonly onActive: (position: Position) => void;
  readonly onMenu: (menu: MenuTarget) => void;
}

export function GridRow({ grid, item, itemIndex, rowIndex, style, active, cellId, onActive, onMenu }: RowProps) {
  const { layout, label, mode, onToggle, choice } = grid;
  const isChosen = choice?.id === item.id;
  // Where rows are chosen a click anywhere chooses.
  const opens = choice === null && (item.expander === "open" || item.expander === "closed");
  const kind = `${item.detailOpen ? " open" : ""}${choice === null ? "" : " choosable"}${isChosen ? " chosen" : ""}`;
  return (
    <div role="row" aria-rowindex={rowIndex} aria-selected={choice === null ? undefined : isChosen} {...treeProps(item)} className={`grid-row${kind}`} style={style}>
      {layout.visible.map((view, column) => {
        const { key } = view.column;
        const isLabel = key === label;
        const at = { item: itemIndex, column };
        return (
          <div
            key={key}
            style={{ display: "contents" }}
            onClick={({ target }) => {
              onActive(at);
              // Selecting text to copy it, or a button, neither opens nor chooses the row.
              const isOther = document.getSelection()?.isCollapsed === false || (target as Element).closest("button, a") !== null;
              if (isOther) return;
              if (isLabel && opens) onToggle(item.id);
              else choice?.onChoose(item.row);
            }}
            onDoubleClick={!opens || isLabel ? undefined : () => onToggle(item.id)}
            onContextMenu={(event) => {
              event.preventDefault();
              onActive(at);
              onMenu({ x: event.clientX, y: event.clientY, row: item.row, view });
            }}
          >
            <Cell
              id={cellId(at)}
              view={view}
              row={item.row}
              width={layout.widths.get(key) ?? view.width}
              opens={isLabel && opens}
              active={active?.item === itemIndex && active.column === column}
              lead={isLabel ? <Twisty item={item} onToggle={onToggle} /> : undefined}
              leadWidth={isLabel && item.expander !== null ? item.depth * INDENT_PX + TWISTY_PX : 0}
              tail={view.names === null ? undefined : <CopyName name={String(exactCell(view, item.row, mode) ?? "")} />}
            />
          </div>
        );
      })}
    </div>
  );
}

function Twisty({ item, onToggle }: { readonly item: GridItem; readonly onToggle: (id: string) => void }) {
  if (item.expander === null) return null;
  const isOpen = item.expander === "open";
  return (
    <button
      type="button"
      className={`twisty${item.expander === "none" ? " none" : ""}`}
      style={{ marginLeft: item.depth * INDENT_PX - 6 }}
      aria-label={isOpen ? "Close row" : "Open row"}
      tabIndex={-1}
      onClick={() => onToggle(item.id)}
    >
      {isOpen ? "▼" : "▶"}
    </button>
  );
}

interface DetailProps {
  readonly item: GridItem;
  readonly layout: ColumnLayout;
  readonly widthPx: number;
  readonly rowIndex: number;
  readonly line: number;
  readonly style: CSSProperties;
  readonly measure: (element: HTMLElement | null) => void;
  readonly children: ReactNode;
}

/** The detail of an open row: a row with one cell. */
export function DetailRow({ item, layout, widthPx, rowIndex, line, style, measure, children }: DetailProps) {
  return (
    <div ref={measure} data-index={line} role="row" aria-rowindex={rowIndex} aria-level={item.depth + 2} aria-posinset={1} aria-setsize={1} className="grid-detail" style={style}>
      <div role="gridcell" aria-colspan={layout.visible.length} style={{ width: widthPx }}>
        {children}
      </div>
    </div>
  );
}

/** The button in a cell with a kernel's name that copies the full name. */
function CopyName({ name }: { readonly name: string }) {
  const [message, setMessage] = useBriefMessage();
  return (
    <button
      type="button"
      className={`copy-name no-print${message === null ? "" : " said"}`}
      tabIndex={-1}
      aria-label="Copy full name"
      title="Copy the full name (Ctrl+C in the cell)"
      onClick={(event) => {
        event.stopPropagation();
        void copyText(name).then((done) => setMessage(done ? "✓" : "✗"));
      }}
    >
      <span role={message === null ? undefined : "status"}>{message ?? <CopyIcon />}</span>
    </button>
  );
}
