/** One timeline of who works and who waits: a lane per rank or role, its height the busy share, its colour the role. */
import { useMemo, useState, type KeyboardEvent, type PointerEvent } from "react";

import { colorVariables } from "../../chart/palette";
import { pictureSvg, savePicture, type Picture } from "../../chart/picture";
import { SaveMenu } from "../../chart/SaveMenu";
import { formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { useElementWidth } from "../../table/useElementWidth";
import { laneBoxes, type Lane, type Lanes } from "./lanes";
import "./roles.css";

const LANE_PX = 20;
const GAP_PX = 4;
const TICKS = 4;
const PICTURE_PX = 1000;
const LABEL_PX = 160;
/** Time outside of the roles of a rank. */
const BETWEEN = "Between roles";
const NEUTRAL = "var(--mark-weak)";
const MOVES: Readonly<Record<string, readonly [number, number]>> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

interface Props {
  readonly lanes: Lanes;
  readonly fileName: string;
  readonly csv: () => string;
}

interface Spot {
  readonly lane: number;
  readonly part: number;
}

export function RoleLanes({ lanes, fileName, csv }: Props) {
  const [measure, widthPx] = useElementWidth();
  const [spot, setSpot] = useState<Spot | null>(null);
  const colors = useMemo(() => {
    const variables = colorVariables(lanes.roles);
    return new Map(lanes.roles.map((role, index) => [role, role === BETWEEN ? NEUTRAL : `var(${variables[index] ?? "--cat-other"})`]));
  }, [lanes.roles]);
  const colorOf = (role: string | null) => (role === null ? NEUTRAL : (colors.get(role) ?? NEUTRAL));
  const title = lanes.ofRanks ? "Who works when, by rank" : "Who works when, by role";
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const lane = Math.floor((event.clientY - box.top) / (LANE_PX + GAP_PX));
    const count = lanes.lanes[0]?.parts.length ?? 0;
    const part = Math.floor(((event.clientX - box.left) / box.width) * count);
    setSpot(lanes.lanes[lane]?.parts[part] === undefined ? null : { lane, part });
  };
  const move = (event: KeyboardEvent) => {
    const step = MOVES[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const from = spot ?? { lane: 0, part: -1 };
    const lane = Math.min(Math.max(from.lane + step[0], 0), lanes.lanes.length - 1);
    const last = (lanes.lanes[lane]?.parts.length ?? 1) - 1;
    setSpot({ lane, part: Math.min(Math.max(from.part + step[1], 0), last) });
  };
  const height = lanes.lanes.length * (LANE_PX + GAP_PX);
  const picture = () => lanePicture(title, lanes, colorOf);
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2 title="Height is the busy share of each part of the time; colour is the role. Nothing is drawn where nothing is recorded.">{title}</h2>
        <span style={{ flex: 1 }} />
        <SaveMenu fileName={fileName} savePicture={() => savePicture(fileName, picture())} svg={() => pictureSvg(picture())} csv={csv} />
      </header>
      <div className="body role-lanes">
        <ul className="role-legend" aria-label="Roles">
          {lanes.roles.map((role) => (
            <li key={role}>
              <span className="swatch" style={{ background: colorOf(role) }} />
              {role}
            </li>
          ))}
        </ul>
        <div className="role-grid">
          <div className="role-names" aria-hidden="true">
            {lanes.lanes.map(({ name }) => (
              <span key={name} title={visibleText(name)} style={{ height: LANE_PX + GAP_PX }}>
                {visibleText(name)}
              </span>
            ))}
          </div>
          <div ref={measure} className="role-plot">
            <svg
              width={widthPx}
              height={height}
              role="application"
              aria-label={`${title}: arrow keys read the values`}
              tabIndex={0}
              onPointerMove={point}
              onPointerLeave={() => setSpot(null)}
              onKeyDown={move}
            >
              {lanes.lanes.map((lane, index) => (
                <g key={lane.name} transform={`translate(0 ${index * (LANE_PX + GAP_PX)})`}>
                  <LaneShape lane={lane} lanes={lanes} widthPx={widthPx} colorOf={colorOf} />
                </g>
              ))}
              {spot !== null && <SpotMark spot={spot} lanes={lanes} widthPx={widthPx} />}
            </svg>
            <div className="role-axis" aria-hidden="true">
              {Array.from({ length: TICKS + 1 }, (_, tick) => (
                <span key={tick}>{formatValue(lanes.startUs + ((lanes.endUs - lanes.startUs) * tick) / TICKS, "us")}</span>
              ))}
            </div>
          </div>
        </div>
        <p className="role-readout soft" aria-live="polite">
          {spot === null ? "Point at a lane, or use the arrow keys, for its values." : readout(lanes, spot)}
        </p>
      </div>
    </section>
  );
}

interface ShapeProps {
  readonly lane: Lane;
  readonly lanes: Lanes;
  readonly widthPx: number;
  readonly colorOf: (role: string | null) => string;
}

/** A light band where the lane is recorded in a role, and the busy share in front of it. */
function LaneShape({ lane, lanes, widthPx, colorOf }: ShapeProps) {
  const boxes = laneBoxes(lane, lanes, widthPx);
  const roles = [...new Set(boxes.map(({ role }) => role))];
  return (
    <>
      {roles.map((role) => {
        const own = boxes.filter((box) => box.role === role);
        return (
          <g key={role ?? ""} fill={colorOf(role)}>
            <path opacity={0.18} d={own.map(({ x, width }) => rectangle(x, 0, width, LANE_PX)).join("")} />
            <path d={own.map(({ x, width, share }) => rectangle(x, LANE_PX * (1 - share), width, LANE_PX * share)).join("")} />
          </g>
        );
      })}
    </>
  );
}

function rectangle(x: number, y: number, width: number, height: number): string {
  return `M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
}

function SpotMark({ spot, lanes, widthPx }: { readonly spot: Spot; readonly lanes: Lanes; readonly widthPx: number }) {
  const part = lanes.lanes[spot.lane]?.parts[spot.part];
  if (part === undefined) return null;
  const scale = widthPx / Math.max(lanes.endUs - lanes.startUs, 1e-9);
  return <rect className="role-spot" x={(part.startUs - lanes.startUs) * scale} y={spot.lane * (LANE_PX + GAP_PX)} width={Math.max((part.endUs - part.startUs) * scale, 1)} height={LANE_PX} />;
}

function readout(lanes: Lanes, { lane, part }: Spot): string {
  const at = lanes.lanes[lane];
  const value = at?.parts[part];
  if (at === undefined || value === undefined) return "";
  const busy = value.pct === null ? "nothing recorded" : `${formatValue(value.pct, "pct")} busy`;
  const role = value.role === null || !lanes.ofRanks ? "" : `${value.role}, `;
  return `${visibleText(at.name)}, ${formatValue(value.startUs, "us")} to ${formatValue(value.endUs, "us")}: ${role}${busy}`;
}

/** As it is drawn, with colours of the theme as values. */
function lanePicture(title: string, lanes: Lanes, colorOf: (role: string | null) => string): Picture {
  const style = getComputedStyle(document.documentElement);
  const valueOf = (role: string | null) => style.getPropertyValue(colorOf(role).slice(4, -1)).trim();
  const legend = lanes.roles.map((role, index) => ({ x: LABEL_PX + index * LABEL_PX, y: 0, width: LABEL_PX - GAP_PX, height: LANE_PX, fill: valueOf(role), text: role, textColor: "#ffffff" }));
  const rows = lanes.lanes.flatMap((lane, index) => {
    const top = (index + 1) * (LANE_PX + GAP_PX);
    const boxes = laneBoxes(lane, lanes, PICTURE_PX).map(({ x, width, share, role }) => ({ x: LABEL_PX + x, y: top + LANE_PX * (1 - share), width, height: LANE_PX * share, fill: valueOf(role) }));
    return [{ x: 0, y: top, width: LABEL_PX, height: LANE_PX, fill: "transparent", text: visibleText(lane.name) }, ...boxes];
  });
  return { title, width: LABEL_PX + PICTURE_PX, height: (lanes.lanes.length + 1) * (LANE_PX + GAP_PX), boxes: [...legend, ...rows] };
}
