/** A flame graph: boxes as wide as their time, below their callers. */
import { useMemo } from "react";

import type { Table } from "../api/types";
import { pictureSvg, savePicture, type Picture } from "../chart/picture";
import { SaveMenu } from "../chart/SaveMenu";
import { toCsv } from "../lib/csv";
import { flameBoxes, type FlameBox, type FlameNode } from "../lib/flame";
import { formatNumber, formatValue } from "../lib/format";
import { cellOf, textOf } from "../lib/rows";
import { visibleText } from "../lib/visibleText";
import { adjust, useParams } from "../state/urlStore";
import { useElementWidth } from "../table/useElementWidth";
import { Segmented } from "../ui/Segmented";

type Side = "device" | "host";

const ROW_PX = 25;
const MIN_TARGET_PX = 25;
/** Fills that are light enough for dark text in both themes. */
const DARK_TEXT = "#10151b";
const FILLS = ["#9ecae9", "#a8d8b9", "#f6cf8b", "#e7b3d1", "#c7c4e6", "#f2b79f"];

export function FlameGraph({ table, fileName }: { readonly table: Table; readonly fileName: string }) {
  const sides = useMemo(() => (["device", "host"] as const).filter((side) => hasTime(table, side)), [table]);
  const params = useParams();
  const side = sides.find((each) => each === params["side"]) ?? sides[0];
  const nodes = useMemo(() => (side === undefined ? [] : flameNodes(table, side)), [table, side]);
  const [measure, widthPx] = useElementWidth();
  const focus = nodes.find(({ id }) => id === params["focus"])?.id ?? null;
  if (side === undefined) return null;
  const boxes = flameBoxes(nodes, focus);
  const depth = Math.max(0, ...nodes.map((node) => node.depth)) + 1;
  const total = nodes.reduce((sum, node) => (node.depth === 0 ? sum + node.width : sum), 0);
  return (
    <section className="card" aria-label={table.title}>
      <header>
        <h2 title={table.help}>{table.title}</h2>
        <Segmented label="Time" values={sides} value={side} onPick={(value) => adjust({ side: value === sides[0] ? null : value })} title={(value) => (value === "device" ? "Device time" : "Host time")} />
        <span className="soft">Click a bar to zoom in</span>
        <span style={{ flex: 1 }} />
        {focus !== null && (
          <button type="button" className="button" onClick={() => adjust({ focus: null })}>
            Show all
          </button>
        )}
        <SaveMenu fileName={fileName} savePicture={() => savePicture(fileName, flamePicture(table.title, boxes, depth))} svg={() => pictureSvg(flamePicture(table.title, boxes, depth))} csv={() => toCsv(table.columns, table.rows)} />
      </header>
      <div className="body">
        <div className="flame" ref={measure} style={{ height: depth * ROW_PX + 4 }}>
          {boxes.map(({ node, leftPct, widthPct }) => (
            <button
              key={node.id}
              type="button"
              className="flame-box"
              // Boxes too narrow to click are reached by zooming into their callers, and in the table.
              tabIndex={(widthPct / 100) * widthPx < MIN_TARGET_PX ? -1 : undefined}
              style={{
                left: `${leftPct}%`,
                width: `calc(${widthPct}% - 1px)`,
                top: node.depth * ROW_PX,
                background: fillOf(node.name),
              }}
              title={`${visibleText(node.id)}\n${formatValue(node.width, "us")}, ${formatNumber((100 * node.width) / total, 1)} % of all`}
              onClick={() => adjust({ focus: node.id === focus ? node.parent : node.id })}
            >
              {visibleText(node.name)}
            </button>
          ))}
        </div>
      </div>
    </section>
  );
}

function hasTime(table: Table, side: Side): boolean {
  return table.rows.some((row) => Number(cellOf(table, row, `${side}_width_us`) ?? 0) > 0);
}

function flameNodes(table: Table, side: Side): FlameNode[] {
  return table.rows.map((row) => ({
    id: textOf(table, row, "path"),
    parent: textOf(table, row, "parent") || null,
    name: textOf(table, row, "name"),
    depth: Number(cellOf(table, row, "depth") ?? 0),
    left: Number(cellOf(table, row, `${side}_left_us`) ?? 0),
    width: Number(cellOf(table, row, `${side}_width_us`) ?? 0),
  }));
}

const PICTURE_WIDTH_PX = 1200;

function flamePicture(title: string, boxes: readonly FlameBox[], depth: number): Picture {
  return {
    title,
    width: PICTURE_WIDTH_PX,
    height: depth * ROW_PX,
    boxes: boxes.map(({ node, leftPct, widthPct }) => ({
      x: (leftPct / 100) * PICTURE_WIDTH_PX,
      y: node.depth * ROW_PX,
      width: (widthPct / 100) * PICTURE_WIDTH_PX - 1,
      height: ROW_PX - 1,
      fill: fillOf(node.name),
      text: visibleText(node.name),
      textColor: DARK_TEXT,
    })),
  };
}

/** Modules of one kind (`Linear_3`, `Linear_7`) share a colour. */
function fillOf(name: string): string {
  const kind = name.replace(/_\d+$/, "");
  let hash = 0;
  for (const character of kind) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 65521;
  return FILLS[hash % FILLS.length] ?? "";
}
