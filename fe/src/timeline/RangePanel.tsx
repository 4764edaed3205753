/** Summary of a range: time by category, the largest names, and busy and idle time of the devices. */
import type { ReactNode } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineGpuPayload, TimelineRangeAnswer, TimelineTimePayload, TimelineTracksAnswer } from "../generated/schema";
import { exactValue, formatNumber, formatValue, withUnit } from "../lib/format";
import { scaleFor } from "../lib/units";
import { visibleText } from "../lib/visibleText";
import { OpenInPerfetto } from "./OpenInPerfetto";
import { categoryVariable } from "./paint";
import { PanelFrame } from "./PanelFrame";
import { tracksText } from "./rangeTracks";
import { RangeTable } from "./RangeTable";
import { deviceLabel } from "./stack";
import type { TimeRange } from "./viewport";

interface Props {
  readonly trace: Query;
  readonly tracks: TimelineTracksAnswer;
  /** Chooses the worker, when several are stacked. */
  readonly choice: ReactNode;
  /** In the worker's own time. */
  readonly range: TimeRange;
  /** Keys of the tracks that it was dragged over, as the server names them; null for all. */
  readonly over: readonly string[] | null;
  /** The same range as Chrome JSON: its address, title and file name. */
  readonly perfetto: PerfettoExport;
  readonly onAllTracks: () => void;
  readonly onGaps: () => void;
  readonly onShow: (range: TimeRange) => void;
  readonly onSelect: () => void;
  readonly onExport: () => void;
  readonly onClose: () => void;
}

export interface PerfettoExport {
  readonly query: Query;
  readonly title: string;
  readonly fileName: string;
}

export function RangePanel({ trace, tracks, choice, range, over, perfetto, onAllTracks, onGaps, onShow, onSelect, onExport, onClose }: Props) {
  const answer = useAnswer<TimelineRangeAnswer>("timeline/range", { ...trace, start_ns: range.startNs, end_ns: range.endNs, tracks: over?.join(",") ?? null });
  const summary = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  return (
    <PanelFrame
      title={`Range of ${formatValue((range.endNs - range.startNs) / 1000, "us")}`}
      onClose={onClose}
      note={<TracksNote over={over} tracks={tracks} onAllTracks={onAllTracks} />}
      actions={
        <>
          {choice}
          <button type="button" className="button" title="Every view shows only this range" onClick={onSelect}>
            Use as selection
          </button>
          <button type="button" className="button" title="Fit the range to the screen (f)" onClick={() => onShow(range)}>
            Zoom to range
          </button>
          <button type="button" className="button" title="Chrome JSON of this range; Perfetto and chrome://tracing open it" onClick={onExport}>
            Export
          </button>
          <OpenInPerfetto {...perfetto} />
        </>
      }
    >
      {answer.state === "failed" && <p className="soft">{answer.failure.message}</p>}
      {summary !== null && (
        <div className="tl-range">
          <Summary summary={summary} tracks={tracks} onGaps={onGaps} stale={answer.state === "loading"} />
          <RangeTable summary={summary} />
        </div>
      )}
    </PanelFrame>
  );
}

interface SummaryProps {
  readonly summary: TimelineRangeAnswer;
  readonly tracks: TimelineTracksAnswer;
  readonly onGaps: Props["onGaps"];
  readonly stale: boolean;
}

/** Which tracks are summed up, and a button for all of them. */
function TracksNote({ over, tracks, onAllTracks }: Pick<Props, "over" | "tracks" | "onAllTracks">) {
  return (
    <span className="tl-over" role="status">
      <span className="soft" title={over === null ? undefined : titlesOf(over, tracks)}>
        {tracksText(over, tracks.tracks.length)}
      </span>
      {over !== null && (
        <button type="button" className="button quiet" title="Sum up all tracks in this range" onClick={onAllTracks}>
          All tracks
        </button>
      )}
    </span>
  );
}

const MAX_TITLES = 30;

function titlesOf(over: readonly string[], { tracks }: TimelineTracksAnswer): string {
  const titles = tracks.filter(({ key }) => over.includes(key)).map(({ title }) => visibleText(title));
  return titles.length > MAX_TITLES ? `${titles.slice(0, MAX_TITLES).join("\n")}\n…` : titles.join("\n");
}

function Summary({ summary, tracks, onGaps, stale }: SummaryProps) {
  return (
    <div className={`tl-columns${stale ? " stale" : ""}`} aria-busy={stale}>
      {summary.categories.length === 0 ? (
        <p className="soft">Nothing to sum up: no thread or stream of these tracks has a slice in this range. Steps and counters are not summed.</p>
      ) : (
        <Categories rows={summary.categories} tracks={tracks} />
      )}
      {summary.gpus.length > 0 && (
        <div>
          <Devices rows={summary.gpus} tracks={tracks} />
          {summary.gap_count > 0 && (
            <button type="button" className="button" title="Idle gaps: when, how long, why, and what the host did" onClick={onGaps}>
              Idle gaps: {formatNumber(summary.gap_count)} ▸
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Categories({ rows, tracks }: { readonly rows: readonly TimelineTimePayload[]; readonly tracks: TimelineTracksAnswer }) {
  const scale = scaleFor("us", Math.max(0, ...rows.map(({ self_us }) => self_us)));
  return (
    <table className="average tl-top">
      <caption>Time by category, without children</caption>
      <tbody>
        {rows.map((row) => {
          const category = tracks.categories[row.category];
          return (
            <tr key={`${row.category} ${row.is_device}`}>
              <th scope="row">
                <i className="swatch" style={{ background: `var(${categoryVariable(category?.key ?? "")})` }} />
                {category?.title ?? "?"}
                {row.is_device && <span className="faint"> on the device</span>}
              </th>
              <td title={exactValue(row.self_us, "us")}>{withUnit(row.self_us, scale, "us")}</td>
              <td className="soft">{formatNumber(row.count)} ×</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Devices({ rows, tracks }: { readonly rows: readonly TimelineGpuPayload[]; readonly tracks: TimelineTracksAnswer }) {
  const scale = scaleFor("us", Math.max(0, ...rows.map(({ busy_us: busy, idle_us: idle }) => Math.max(busy, idle))));
  return (
    <table className="average tl-top">
      <caption>Busy and idle time by device</caption>
      <tbody>
        {rows.map((gpu) => {
          const total = gpu.busy_us + gpu.idle_us;
          const share = (us: number) => (total > 0 ? formatValue((100 * us) / total, "pct") : "–");
          const parts = [
            ["busy", gpu.busy_us],
            ["communication alone", gpu.communication_us],
            ["overlap of both", gpu.overlap_us],
            ["copies alone", gpu.copies_us],
            ["idle", gpu.idle_us],
          ] as const;
          return parts.map(([name, us], index) => (
            <tr key={`${gpu.device} ${name}`}>
              <th scope="row">
                {deviceLabel(tracks, gpu.device)} <span className={index === 0 ? "" : "soft"}>{name}</span>
              </th>
              <td title={exactValue(us, "us")}>{withUnit(us, scale, "us")}</td>
              <td className="soft">{share(us)}</td>
            </tr>
          ));
        })}
      </tbody>
    </table>
  );
}
