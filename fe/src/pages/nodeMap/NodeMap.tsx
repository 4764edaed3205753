/** The map of a job: hosts, their devices coloured by how they spend the step, and what went over the links between them. */
import { useState } from "react";

import type { Table } from "../../api/types";
import { formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { navigate } from "../../state/urlStore";
import { useElementWidth } from "../../table/useElementWidth";
import { Segmented } from "../../ui/Segmented";
import { useTheme } from "../../ui/theme";
import { colorOf, shareOf, spreadOf, type Spread } from "../rankMatrix/colorScale";
import { curve, nodeLayout, strokePx, type Device, type Link, type NodeLayout } from "./layout";
import "./nodeMap.css";

const MEASURES = ["busy_pct", "exposed_pct", "wait_pct"] as const;
const FULL_PCT = 100;
const STEPS = [0, 0.25, 0.5, 0.75, 1];
/** Up to here from the light end of the scale dark text is readable. */
const LIGHT_SHARE = 0.57;

interface Props {
  readonly map: Table;
  readonly links: Table | undefined;
}

export function NodeMap({ map, links }: Props) {
  const [measure, widthPx] = useElementWidth();
  const known = MEASURES.filter((key) => map.rows.some((row) => row[map.columns.findIndex((column) => column.key === key)] != null));
  const [chosen, setChosen] = useState<string | null>(null);
  const [pointed, setPointed] = useState<Device | Link | null>(null);
  const key = known.find((each) => each === chosen) ?? known[0] ?? MEASURES[0];
  const layout = nodeLayout(map, links, MEASURES, Math.max(widthPx, 240));
  const spread = spreadOf(layout.links.map(({ bandwidthGbPerS }) => bandwidthGbPerS));
  return (
    <section className="card" aria-label={map.title}>
      <header>
        <h2 title={map.help}>{map.title}</h2>
        {known.length > 1 && <Segmented label="Colour of devices" values={known} value={key} onPick={setChosen} title={(each) => titleOf(map, each)} />}
      </header>
      <div className="body node-map" ref={measure}>
        <MapLegend title={titleOf(map, key)} spread={spread} />
        <MapPicture layout={layout} measure={key} spread={spread} pointed={pointed} onPoint={setPointed} />
        <p className="soft node-readout" aria-live="polite">
          {pointed === null ? note(layout, links) : "from" in pointed ? linkText(pointed) : deviceText(pointed, map)}
        </p>
      </div>
    </section>
  );
}

function titleOf(map: Table, key: string): string {
  return map.columns.find((column) => column.key === key)?.title ?? key;
}

function MapLegend({ title, spread }: { readonly title: string; readonly spread: Spread | null }) {
  const theme = useTheme();
  const scale = STEPS.map((share) => <i key={share} style={{ background: colorOf(share, theme) }} />);
  return (
    <div className="node-legend">
      <span>
        Devices: {title} 0 % <span aria-hidden="true">{scale}</span> 100 %
      </span>
      {spread !== null && (
        <span>
          Links: {formatValue(spread.low, "gb_per_s")} <span aria-hidden="true">{scale}</span> {formatValue(spread.high, "gb_per_s")}, as wide as their bytes
        </span>
      )}
    </div>
  );
}

interface PictureProps {
  readonly layout: NodeLayout;
  readonly measure: string;
  readonly spread: Spread | null;
  readonly pointed: Device | Link | null;
  readonly onPoint: (target: Device | Link | null) => void;
}

function MapPicture({ layout, measure, spread, pointed, onPoint }: PictureProps) {
  const theme = useTheme();
  const largest = Math.max(0, ...layout.links.map(({ sizeBytes }) => sizeBytes));
  const fill = (device: Device) => {
    const value = device.values[measure] ?? null;
    return value === null ? "none" : colorOf(value / FULL_PCT, theme);
  };
  const isFaded = (link: Link) => pointed !== null && link !== pointed && !("from" in pointed && pointed.id === link.id) && !("values" in pointed && (link.from.id === pointed.id || link.to.id === pointed.id));
  return (
    <svg width={layout.width} height={layout.height + 2} role="group" aria-label="Hosts and devices">
      {layout.hosts.map((host) => (
        <g key={host.name}>
          <rect className="node-host" x={host.x + 0.5} y={host.y + 0.5} width={host.width - 1} height={host.height} rx={4} />
          <text className="node-title" x={host.x + 12} y={host.y + 18}>
            {visibleText(host.name).slice(0, Math.max(4, Math.floor((host.width - 24) / 7)))}
            <title>{visibleText(host.name)}</title>
          </text>
        </g>
      ))}
      {layout.links.map((link) => (
        <path
          key={link.id}
          d={curve(link, layout.cellPx)}
          fill="none"
          stroke={link.bandwidthGbPerS === null || spread === null ? "var(--mark-weak)" : colorOf(shareOf(link.bandwidthGbPerS, spread), theme)}
          strokeWidth={strokePx(link.sizeBytes, largest)}
          opacity={isFaded(link) ? 0.08 : 0.85}
          onPointerEnter={() => onPoint(link)}
          onPointerLeave={() => onPoint(null)}
        />
      ))}
      {layout.hosts.flatMap(({ devices }) =>
        devices.map((device) => (
          <DeviceCell key={device.id} device={device} layout={layout} fill={fill(device)} isLight={(theme === "dark" ? 1 - (device.values[measure] ?? 0) / FULL_PCT : (device.values[measure] ?? 0) / FULL_PCT) < LIGHT_SHARE} onPoint={onPoint} />
        )),
      )}
    </svg>
  );
}

interface CellProps {
  readonly device: Device;
  readonly layout: NodeLayout;
  readonly fill: string;
  readonly isLight: boolean;
  readonly onPoint: (target: Device | null) => void;
}

function DeviceCell({ device, layout: { cellPx, isCompact }, fill, isLight, onPoint }: CellProps) {
  const { worker } = device;
  const open = worker === null ? undefined : () => navigate({ view: "overview", worker });
  const color = fill === "none" ? "var(--text)" : isLight ? "#10151b" : "#ffffff";
  return (
    <g
      className="node-device"
      transform={`translate(${device.x} ${device.y})`}
      role={worker === null ? "img" : "button"}
      aria-label={label(device)}
      tabIndex={worker === null || isCompact ? -1 : 0}
      onClick={open}
      onKeyDown={({ key }) => {
        if (key === "Enter") open?.();
      }}
      onPointerEnter={() => onPoint(device)}
      onPointerLeave={() => onPoint(null)}
      onFocus={() => onPoint(device)}
      onBlur={() => onPoint(null)}
    >
      <rect width={cellPx} height={cellPx} rx={isCompact ? 1 : 3} className={fill === "none" ? "node-empty" : ""} fill={fill === "none" ? "var(--surface)" : fill} />
      {!isCompact && (
        <text x={cellPx / 2} y={cellPx / 2 + 4} textAnchor="middle" fill={color}>
          {device.rank ?? device.device ?? "–"}
        </text>
      )}
    </g>
  );
}

function label({ rank, worker, device }: Device): string {
  const name = rank === null ? visibleText(worker ?? "") : `rank ${rank}`;
  return device === null ? name : `${name}, device ${device}`;
}

function deviceText(device: Device, map: Table): string {
  if (device.worker === null) return `Rank ${device.rank}: no recording of it is loaded.`;
  const shares = MEASURES.flatMap((key) => {
    const value = device.values[key];
    return value == null ? [] : [`${titleOf(map, key)} ${formatValue(value, "pct")}`];
  });
  const named = device.name === "" ? [] : [visibleText(device.name)];
  return [`${visibleText(device.worker)} (${label(device)})`, ...named, ...shares].join(", ");
}

function linkText({ from, to, transport, sizeBytes, bandwidthGbPerS }: Link): string {
  const speed = bandwidthGbPerS === null ? "" : ` at ${formatValue(bandwidthGbPerS, "gb_per_s")}`;
  return `Rank ${from.rank} to rank ${to.rank}${transport === "" ? "" : ` over ${visibleText(transport)}`}: ${formatValue(sizeBytes, "bytes")}${speed}`;
}

function note({ hidden, isCompact, links }: NodeLayout, table: Table | undefined): string {
  if (table === undefined || table.row_count === 0) return `Links are not drawn. ${table?.why_empty ?? ""}`.trim();
  if (isCompact) return `Of more than 16 hosts links are not drawn; the table below has all ${table.row_count}.`;
  const rest = hidden > 0 ? ` The largest ${links.length} of ${table.row_count} links are drawn.` : "";
  return `Numbers are ranks. Point at a device or a link for its figures.${rest}`;
}
