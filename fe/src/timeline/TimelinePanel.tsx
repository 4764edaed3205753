/** The card below the tracks: the selected slice, else the idle gaps, else the chosen range. */
import { apiUrl, type Query } from "../api/client";
import { saveUrl } from "../lib/download";
import type { Target } from "../state/target";
import { navigate, useParams } from "../state/urlStore";
import { showRange } from "./commands";
import { gapScopeOf } from "./gapRows";
import { GapsPanel } from "./GapsPanel";
import { asSelection } from "./link";
import { RangePanel, type PerfettoExport } from "./RangePanel";
import { noteOnScreen } from "./notePositions";
import { NotesPanel } from "./NotesPanel";
import { parseNotes, parsePosition, type Note } from "./notes";
import { parseOver } from "./rangeTracks";
import { SlicePanel } from "./SlicePanel";
import { fromPart, inPart, partOfWorker, type Stack, type StackPart } from "./stack";
import type { Stage } from "./stage";
import { shareOfStep } from "./stepShare";
import { openOnWorker, type FollowedSlice } from "./useFollowedSlice";
import type { TimelineState } from "./useTimelineState";
import { spanNs, type TimeRange } from "./viewport";
import { writeAddress } from "./visit";

interface Props {
  readonly stage: Stage | null;
  readonly stack: Stack;
  readonly state: TimelineState;
  readonly followed: FollowedSlice;
  readonly target: Target;
}

export function TimelinePanel(props: Props) {
  const { stage, stack, state, followed, target } = props;
  const { gaps, range: rangeText, over, note, notes } = useParams() as Record<string, string | undefined>;
  const { sliceId, range, active } = state;
  if (note !== undefined && stage !== null) {
    const showNote = (each: Note) => (each.slice === null ? showRange(stage, aroundNote(stage, noteOnScreen(stack.parts[0], each).timeNs)) : followed.go(each.slice, stack.parts[0].worker));
    return <NotesPanel notes={parseNotes(notes)} position={parsePosition(note) ?? { timeNs: 0, slice: null }} onShow={showNote} onClose={() => writeAddress({ note: null })} />;
  }
  if (sliceId !== null) return <Selected {...props} id={sliceId} />;
  const choice = stack.parts.length > 1 && <WorkerChoice stack={stack} active={active} />;
  const show = (next: TimeRange) => stage !== null && showRange(stage, fromPart(active, next));
  const scope = gapScopeOf(gaps, range !== null);
  if (scope !== null && stage !== null) {
    return (
      <GapsPanel
        trace={active.query}
        tracks={active.tracks}
        choice={choice}
        stage={stage}
        scope={scope}
        range={range}
        inWorker={(shown) => inPart(active, shown)}
        onScope={(next) => writeAddress({ gaps: next })}
        onShow={show}
        onGo={followed.go}
        onClose={() => writeAddress({ gaps: null })}
      />
    );
  }
  if (range === null) return null;
  return (
    <RangePanel
      trace={active.query}
      tracks={active.tracks}
      choice={choice}
      range={inPart(active, range)}
      over={parseOver(over, rangeText)}
      perfetto={perfettoExport(range, active, target)}
      onAllTracks={() => writeAddress({ over: null })}
      onGaps={() => writeAddress({ gaps: "range" })}
      onShow={show}
      onSelect={() => navigate({ steps: null, range: null, over: null, ...asSelection(range, stack.originUs) })}
      onExport={() => savePerfettoExport(range, active, target)}
      onClose={() => writeAddress({ range: null, over: null })}
    />
  );
}

/** As much time as is on screen, with the moment in its middle. */
function aroundNote(stage: Stage, timeNs: number): TimeRange {
  const halfNs = spanNs(stage.viewport) / 2;
  return { startNs: timeNs - halfNs, endNs: timeNs + halfNs };
}

function Selected({ stage, stack, state, followed, id }: Props & { readonly id: number }) {
  const { active } = state;
  const { slice } = followed;
  const share = stage === null || slice === null ? null : shareOfStep(stage, slice.track, slice.start_ns, slice.start_ns + slice.dur_ns);
  const onPeer = (worker: string, peer: number) => {
    const part = partOfWorker(stack, active, worker);
    if (part === undefined) openOnWorker(active, worker, peer);
    else followed.go(peer, part.worker);
  };
  return (
    <SlicePanel
      trace={active.query}
      worker={stack.parts.length > 1 ? active.worker : null}
      id={id}
      originUs={active.tracks.origin_us}
      flows={followed.flows}
      share={share}
      onGo={followed.go}
      isStacked={stack.parts.length > 1}
      onSame={followed.same}
      onFollow={followed.follow}
      onPeer={onPeer}
      onClose={() => writeAddress({ slice: null })}
    />
  );
}

/** Chooses the worker of the summary. */
function WorkerChoice({ stack, active }: { readonly stack: Stack; readonly active: StackPart }) {
  return (
    <select
      className="field"
      aria-label="Worker of the summary"
      value={active.worker}
      onChange={({ target }) => writeAddress({ on: target.value === stack.parts[0].worker ? null : target.value, over: null })}
    >
      {stack.parts.map(({ worker }) => (
        <option key={worker} value={worker}>
          {worker}
        </option>
      ))}
    </select>
  );
}

/** The parameters of `/perfetto` for a range on screen of a worker's trace. */
function perfettoExport(range: TimeRange, part: StackPart, target: Target): PerfettoExport {
  const { tracks, query, worker } = part;
  const { startNs, endNs } = inPart(part, range);
  const inside = { startNs: Math.max(0, Math.floor(startNs)), endNs: Math.min(tracks.end_ns, Math.ceil(endNs)) };
  const exportQuery: Query = { ...query, ...asSelection(inside, tracks.origin_us) };
  return { query: exportQuery, title: `${target.run.name} ${worker}`, fileName: `${target.run.name}_${worker}_range.json` };
}

export function savePerfettoExport(range: TimeRange, part: StackPart, target: Target): void {
  const { fileName, query } = perfettoExport(range, part, target);
  saveUrl(fileName, apiUrl("perfetto", query));
}
