/** The menu of a cell (right click): copy the cell or the row. */
import { useEffect, useRef } from "react";

import type { Row } from "../api/types";
import { toJson, toTabs } from "../lib/csv";
import { copyText } from "../lib/download";
import type { NameMode } from "../lib/names";
import type { ColumnLayout } from "./columnLayout";
import { exactCell, type ColumnView } from "./columnView";

export interface MenuTarget {
  readonly x: number;
  readonly y: number;
  readonly row: Row;
  readonly view: ColumnView;
}

interface Props {
  readonly target: MenuTarget;
  readonly layout: ColumnLayout;
  /** Which name of kernels is shown. */
  readonly mode: NameMode;
  readonly onClose: () => void;
}

const MENU_WIDTH_PX = 220;
const MENU_HEIGHT_PX = 130;

export function CellMenu({ target, layout, mode, onClose }: Props) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    panel.current?.querySelector("button")?.focus();
    const onPointer = (event: PointerEvent) => {
      if (panel.current?.contains(event.target as Node) === false) onClose();
    };
    document.addEventListener("pointerdown", onPointer);
    return () => document.removeEventListener("pointerdown", onPointer);
  }, [onClose]);

  const value = exactCell(target.view, target.row, mode);
  const cells = layout.visible.map((view) => exactCell(view, target.row, mode));
  const columns = layout.visible.map((view) => view.column);
  const copy = (text: string) => {
    void copyText(text);
    onClose();
  };
  return (
    <div
      ref={panel}
      className="popover menu"
      style={{
        position: "fixed",
        left: Math.max(0, Math.min(target.x, window.innerWidth - MENU_WIDTH_PX)),
        top: Math.max(0, Math.min(target.y, window.innerHeight - MENU_HEIGHT_PX)),
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <button type="button" className="button" onClick={() => copy(value === null ? "" : String(value))}>
        Copy cell
      </button>
      <button type="button" className="button" onClick={() => copy(toTabs(cells))}>
        Copy row
      </button>
      <button type="button" className="button" onClick={() => copy(toJson(columns, [cells]))}>
        Copy row as JSON
      </button>
    </div>
  );
}
