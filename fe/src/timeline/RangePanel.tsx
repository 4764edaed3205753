/** What happened in a range: time by category, the largest names, GPUs, and what the host did while they idled. */
import { useState, type ReactNode } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineGapPayload, TimelineGpuPayload, TimelineRangeAnswer, TimelineTimePayload, TimelineTopPayload, TimelineTracksAnswer } from "../generated/schema";
import { exactValue, formatNumber, formatValue, withUnit } from "../lib/format";
import { shortenMiddle } from "../lib/shorten";
import { scaleFor } from "../lib/units";
import { categoryVariable } from "./paint";
import type { TimeRange } from "./scene";
import { PanelFrame } from "./SlicePanel";

interface Props {
  readonly trace: Query;
  readonly tracks: TimelineTracksAnswer;
  /** Whose range it is, when there are several. */
  readonly choice: ReactNode;
  /** In the worker's own time, as what it is asked to show. */
  readonly range: TimeRange;
  readonly onShow: (range: TimeRange) => void;
  readonly onSelect: () => void;
  readonly onExport: () => void;
  readonly onClose: () => void;
}

export function RangePanel({ trace, tracks, choice, range, onShow, onSelect, onExport, onClose }: Props) {
  const answer = useAnswer<TimelineRangeAnswer>("timeline/range", { ...trace, start_ns: range.startNs, end_ns: range.endNs });
  const summary = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  return (
    <PanelFrame
      title={`Range of ${formatValue((range.endNs - range.startNs) / 1000, "us")}`}
      onClose={onClose}
      actions={
        <>
          {choice}
          <button type="button" className="button" title="Every view shows only this range" onClick={onSelect}>
            Use as selection
          </button>
          <button type="button" className="button" title="Fill the screen with it (f)" onClick={() => onShow(range)}>
            Zoom to it
          </button>
          <button type="button" className="button" title="Chrome JSON of this range; Perfetto and chrome://tracing open it" onClick={onExport}>
            Export
          </button>
        </>
      }
    >
      {answer.state === "failed" && <p className="soft">{answer.failure.message}</p>}
      {summary !== null && <Summary summary={summary} tracks={tracks} onShow={onShow} stale={answer.state === "loading"} />}
    </PanelFrame>
  );
}

interface SummaryProps {
  readonly summary: TimelineRangeAnswer;
  readonly tracks: TimelineTracksAnswer;
  readonly onShow: Props["onShow"];
  readonly stale: boolean;
}

function Summary({ summary, tracks, onShow, stale }: SummaryProps) {
  return (
    <div className={`tl-columns${stale ? " stale" : ""}`} aria-busy={stale}>
      <Categories rows={summary.categories} tracks={tracks} />
      {summary.gpus.length > 0 && <Gpus rows={summary.gpus} />}
      <Top title="Kernels" rows={summary.kernels} />
      <Top title="Operators" rows={summary.operators} />
      <Top title="Python" rows={summary.python} />
      {summary.gaps.length > 0 && <Gaps gaps={summary.gaps} count={summary.gap_count} onShow={onShow} />}
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

function Gpus({ rows }: { readonly rows: readonly TimelineGpuPayload[] }) {
  return (
    <table className="average tl-top">
      <caption>GPUs</caption>
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
                GPU {gpu.device} <span className={index === 0 ? "" : "soft"}>{name}</span>
              </th>
              <td title={exactValue(us, "us")}>{formatValue(us, "us")}</td>
              <td className="soft">{share(us)}</td>
            </tr>
          ));
        })}
      </tbody>
    </table>
  );
}

function Top({ title, rows }: { readonly title: string; readonly rows: readonly TimelineTopPayload[] }) {
  const scale = scaleFor("us", Math.max(0, ...rows.map(({ self_us }) => self_us)));
  if (rows.length === 0) return null;
  return (
    <table className="average tl-top">
      <caption>{title}, largest first</caption>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row" title={row.name}>
              {shortenMiddle(row.name, 44)}
            </th>
            <td title={`${exactValue(row.self_us, "us")} without children, ${exactValue(row.total_us, "us")} with`}>{withUnit(row.self_us, scale, "us")}</td>
            <td className="soft">{formatNumber(row.count)} ×</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const FIRST_GAPS = 5;

function Gaps({ gaps, count, onShow }: { readonly gaps: readonly TimelineGapPayload[]; readonly count: number; readonly onShow: Props["onShow"] }) {
  const [all, setAll] = useState(false);
  return (
    <table className="average tl-top">
      <caption>
        Idle gaps, longest first: {formatNumber(Math.min(gaps.length, count))} of {formatNumber(count)}
      </caption>
      <tbody>
        {(all ? gaps : gaps.slice(0, FIRST_GAPS)).map((gap) => (
          <tr key={`${gap.device} ${gap.start_ns}`}>
            <th scope="row">
              <button type="button" className="frame-link" title="Show this gap" onClick={() => onShow({ startNs: gap.start_ns, endNs: gap.end_ns })}>
                GPU {gap.device}: {formatValue((gap.end_ns - gap.start_ns) / 1000, "us")}
              </button>
            </th>
            <td className="soft tl-left" title={gap.thread ?? ""}>
              {gap.host.length === 0 ? "the host did nothing known" : `meanwhile ${gap.host.map(({ name }) => shortenMiddle(name, 36)).join(", ")}`}
            </td>
          </tr>
        ))}
        {!all && gaps.length > FIRST_GAPS && (
          <tr>
            <th scope="row">
              <button type="button" className="frame-link" onClick={() => setAll(true)}>
                {formatNumber(gaps.length - FIRST_GAPS)} more
              </button>
            </th>
          </tr>
        )}
      </tbody>
    </table>
  );
}
