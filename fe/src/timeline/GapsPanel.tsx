/** Idle gaps of the devices: when, how long, why, between which slices, and what the host did meanwhile. */
import { useState, type ReactNode } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineCauseTimePayload, TimelineGapsAnswer, TimelineIdleGapPayload, TimelineSlicePayload, TimelineTracksAnswer } from "../generated/schema";
import { exactValue, formatMoment, formatNumber, formatValue, NO_VALUE } from "../lib/format";
import { namesOf, shownName, type NameMode } from "../lib/names";
import { shortenMiddle } from "../lib/shorten";
import { scaleFor, type Scale } from "../lib/units";
import { visibleText } from "../lib/visibleText";
import { useNameMode } from "../state/nameMode";
import { Segmented } from "../ui/Segmented";
import { causeOf, lengthNs, sortedGaps, type GapScope, type GapSort } from "./gapRows";
import { PanelFrame } from "./PanelFrame";
import { deviceLabel } from "./stack";
import type { Stage } from "./stage";
import { useRestingViewport } from "./useRestingViewport";
import type { TimeRange } from "./viewport";
import "./panels.css";

const SCOPE_TITLES: Readonly<Record<GapScope, string>> = { trace: "Whole trace", screen: "On screen", range: "Marked range" };

interface Props {
  readonly trace: Query;
  readonly tracks: TimelineTracksAnswer;
  /** Chooses the worker, when several are stacked. */
  readonly choice: ReactNode;
  readonly stage: Stage;
  readonly scope: GapScope;
  readonly range: TimeRange | null;
  /** Converts a range on screen to the worker's own time. */
  readonly inWorker: (range: TimeRange) => TimeRange;
  readonly onScope: (scope: GapScope) => void;
  readonly onShow: (range: TimeRange) => void;
  readonly onGo: (id: number) => void;
  readonly onClose: () => void;
}

export function GapsPanel({ trace, tracks, choice, stage, scope, range, inWorker, onScope, onShow, onGo, onClose }: Props) {
  const screen = useRestingViewport(stage, scope === "screen");
  const shown = scope === "trace" ? null : scope === "range" ? range : screen;
  const workerRange = shown === null ? null : inWorker(shown);
  const answer = useAnswer<TimelineGapsAnswer>("timeline/gaps", { ...trace, start_ns: workerRange?.startNs ?? null, end_ns: workerRange?.endNs ?? null });
  const result = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  const scopes: readonly GapScope[] = range === null ? ["trace", "screen"] : ["trace", "screen", "range"];
  return (
    <PanelFrame
      title="Idle gaps"
      onClose={onClose}
      actions={
        <>
          {choice}
          <Segmented label="Range of the gaps" values={scopes} value={scope} title={(value) => SCOPE_TITLES[value as GapScope]} onPick={(value) => onScope(value as GapScope)} />
        </>
      }
    >
      {answer.state === "failed" && <p className="soft">{answer.failure.message}</p>}
      {result !== null && <Gaps result={result} tracks={tracks} onShow={onShow} onGo={onGo} stale={answer.state === "loading"} />}
    </PanelFrame>
  );
}

interface GapsProps {
  readonly result: TimelineGapsAnswer;
  readonly tracks: TimelineTracksAnswer;
  readonly onShow: Props["onShow"];
  readonly onGo: Props["onGo"];
  readonly stale: boolean;
}

function Gaps({ result, tracks, onShow, onGo, stale }: GapsProps) {
  const [sort, setSort] = useState<{ key: GapSort; reversed: boolean }>({ key: "length", reversed: false });
  const mode = useNameMode();
  const { gaps, count } = result;
  if (count === 0) return <p role="status">No idle gaps here.</p>;
  const scale = scaleFor("us", Math.max(...gaps.map((gap) => lengthNs(gap) / 1000)));
  const header = (key: GapSort, title: string) => (
    <th scope="col" aria-sort={sort.key === key ? ((key === "length") !== sort.reversed ? "descending" : "ascending") : "none"}>
      <button type="button" className="tl-sort" onClick={() => setSort({ key, reversed: sort.key === key && !sort.reversed })}>
        {title}
        {sort.key === key && <span aria-hidden="true">{(key === "length") !== sort.reversed ? " ▾" : " ▴"}</span>}
      </button>
    </th>
  );
  return (
    <table className={`tl-gaps${stale ? " stale" : ""}`} aria-busy={stale}>
      <caption>
        <span role="status">{countText(result)}</span>
      </caption>
      <thead>
        <tr>
          {header("length", `Length (${scale.label})`)}
          {header("start", "Start")}
          {header("device", "Device")}
          {header("cause", "Main cause")}
          <th scope="col">Before</th>
          <th scope="col">After</th>
          <th scope="col">Host activity</th>
        </tr>
      </thead>
      <tbody>
        {sortedGaps(gaps, sort.key, sort.reversed).map((gap) => (
          <GapRow key={`${gap.gap.device} ${gap.gap.start_ns}`} gap={gap} device={deviceLabel(tracks, gap.gap.device)} scale={scale} mode={mode} onShow={onShow} onGo={onGo} />
        ))}
      </tbody>
    </table>
  );
}

function countText({ gaps, count, total_us: totalUs }: TimelineGapsAnswer): string {
  const gapsText = gaps.length < count ? `The ${formatNumber(gaps.length)} longest of ${formatNumber(count)} gaps` : `${formatNumber(count)} ${count === 1 ? "gap" : "gaps"}`;
  return `${gapsText}, ${formatValue(totalUs, "us")} idle in total`;
}

interface RowProps {
  readonly gap: TimelineIdleGapPayload;
  readonly device: string;
  readonly scale: Scale;
  readonly mode: NameMode;
  readonly onShow: Props["onShow"];
  readonly onGo: Props["onGo"];
}

function GapRow({ gap: idle, device, scale, mode, onShow, onGo }: RowProps) {
  const { gap, causes, before, after } = idle;
  const us = lengthNs(idle) / 1000;
  const text = formatNumber(us / scale.divisor, 3);
  return (
    <tr>
      <td>
        <button
          type="button"
          className="frame-link"
          title={`${exactValue(us, "us")}: zoom to the gap`}
          aria-label={`${text} ${scale.label}, ${device}, zoom to the gap`}
          onClick={() => onShow({ startNs: gap.start_ns, endNs: gap.end_ns })}
        >
          {text}
        </button>
      </td>
      <td>{formatMoment(gap.start_ns)}</td>
      <td>{device}</td>
      <td className="tl-left" title={causesText(causes)}>
        {causeOf(idle)}
        {causes.length > 1 && <span className="soft"> {shareText(causes, us)}</span>}
      </td>
      <Neighbour slice={before} mode={mode} onGo={onGo} otherwise="the recording begins" />
      <Neighbour slice={after} mode={mode} onGo={onGo} otherwise="the recording ends" />
      <td className="tl-left" title={gap.thread === null ? "The host thread that launches its work is unknown." : visibleText(gap.thread)}>
        {gap.host.length === 0 ? NO_VALUE : gap.host.map((name) => visibleText(shortenMiddle(shownName(namesOf(name), mode), 32))).join(", ")}
      </td>
    </tr>
  );
}

interface NeighbourProps {
  readonly slice: TimelineSlicePayload | null;
  readonly mode: NameMode;
  readonly onGo: Props["onGo"];
  /** Shown where there is none. */
  readonly otherwise: string;
}

function Neighbour({ slice, mode, onGo, otherwise }: NeighbourProps) {
  if (slice === null) return <td className="tl-left soft">{otherwise}</td>;
  return (
    <td className="tl-left">
      <button type="button" className="frame-link" title={visibleText(slice.name)} onClick={() => onGo(slice.id)}>
        {visibleText(shortenMiddle(shownName(namesOf(slice), mode), 36))}
      </button>
    </td>
  );
}

function causesText(causes: readonly TimelineCauseTimePayload[]): string {
  return causes.map(({ cause, dur_us: us }) => `${cause}: ${formatValue(us, "us")}`).join("\n");
}

function shareText([first]: readonly TimelineCauseTimePayload[], us: number): string {
  return first === undefined ? "" : formatValue((100 * first.dur_us) / us, "pct");
}
