/** Stage, toolbar and panels of one trace; what they share stands in the address. */
import { useEffect, useMemo, useRef, useState } from "react";

import { apiUrl } from "../api/client";
import { saveFile, saveUrl } from "../lib/download";
import type { Target } from "../state/target";
import { navigate } from "../state/urlStore";
import { pickBox, runCommand, showRange, zoomToBox } from "./commands";
import type { DragMode } from "./gestures";
import type { Command } from "./keys";
import { asSelection, formatRange, hullOf } from "./link";
import { PanelSlot } from "./PanelSlot";
import { timelinePicture } from "./picture";
import { RangePanel } from "./RangePanel";
import type { TimeRange } from "./scene";
import { SearchField } from "./SearchField";
import { SlicePanel } from "./SlicePanel";
import { fromPart, inPart, partOf, type Stack, type StackPart } from "./stack";
import { StackControl } from "./StackControl";
import type { Stage } from "./stage";
import { StageFrame } from "./StageFrame";
import { shareOfStep } from "./stepShare";
import { KeyHelp, Toolbar } from "./Toolbar";
import { useAddressedViewport } from "./useAddressedViewport";
import { useAnnouncedSlice } from "./useAnnouncedSlice";
import { useArranging } from "./useArranging";
import { useFind } from "./useFind";
import { useFollowedSlice, type FollowedSlice } from "./useFollowedSlice";
import { useGestures, useMountedStage, useTheming } from "./useMountedStage";
import { usePlace, type Place } from "./usePlace";
import { useTimelineKeys } from "./useTimelineKeys";
import { useVisit, place as write } from "./visit";
import "./timeline.css";

interface Props {
  readonly stack: Stack;
  readonly target: Target;
  /** Workers of the run that could be stacked. */
  readonly fellows: readonly string[];
  /** What keeps wanted workers from being stacked. */
  readonly problems: readonly string[];
}

export function TimelineView({ stack, target, fellows, problems }: Props) {
  const place = usePlace(stack);
  const { folding, arrangement, layout, mode, active, sliceId, selection, placed } = place;
  useVisit();
  const { stage, stageRef, headsRef } = useMountedStage(stack);
  const followed = useFollowedSlice(stage, stack, active, place, sliceId, placed);
  const find = useFind(stack, active, sliceId, followed, placed);
  useAnnouncedSlice(stack, followed.slice);
  const arranging = useArranging(stack, layout, folding, arrangement);
  const searchField = useRef<HTMLInputElement>(null);
  const slot = useRef<HTMLDivElement>(null);
  const focusStage = () => stageRef.current?.focus({ preventScroll: true });
  const [dragMode, setDragMode] = useState<DragMode>("range");
  const [dragged, setDragged] = useState<TimeRange | null>(null);
  const [helpOpen, setHelpOpen] = useState(false);
  const range = dragged ?? place.range;

  useEffect(() => {
    stage?.update({ layout, mode, found: find.found, hits: find.hits, selected: followed.slice, flows: followed.arrows, range, selection });
  }, [stage, layout, mode, find.found, find.hits, followed.slice, followed.arrows, range, selection]);
  useTheming(stage);
  const selected = useMemo(() => hullOf(selection), [selection]);
  useAddressedViewport(stage, place.at, place.range ?? (place.isSelecting ? undefined : selected));
  useGestures(stage, {
    dragMode: () => dragMode,
    onRange: (next, done, track) => {
      setDragged(done ? null : next);
      if (!done || next.endNs <= next.startNs) return;
      const { worker } = track === null ? active : partOf(stack, track);
      write({ range: formatRange(next), slice: null, on: worker === stack.parts[0].worker ? null : worker });
    },
    onPick: (hit) => stage !== null && pickBox(stage, hit, followed.pick),
    onZoom: (hit) => stage !== null && zoomToBox(stage, hit),
  });
  const onCommand = (command: Command) => {
    if (stage === null) return;
    const clear = () => (helpOpen ? setHelpOpen(false) : write(sliceId !== null ? { slice: null } : { range: null }));
    const focusPanel = () => slot.current?.focus({ preventScroll: true });
    runCommand(command, { stage, followed, find, range: range ?? selected, focusSearch: () => searchField.current?.select(), focusPanel, onPin: arranging.onPin, clear });
  };
  useTimelineKeys(stage, { onCommand, onHelp: () => setHelpOpen(!helpOpen) });
  const onExport = (exported: TimeRange) => exportRange(exported, active, target);

  return (
    <div className="timeline">
      <Toolbar
        stage={stage}
        stack={stack}
        mode={mode}
        dragMode={dragMode}
        helpOpen={helpOpen}
        search={<SearchField field={searchField} text={find.text} result={find.result} workers={stack.parts.length} onSearch={find.search} onStep={find.step} onLeave={focusStage} />}
        stacking={<StackControl worker={stack.parts[0].worker} others={fellows} stacked={stack.parts.slice(1).map(({ worker }) => worker)} />}
        onMode={(next) => write({ colors: next === "name" ? "name" : null })}
        onDragMode={setDragMode}
        onHelp={setHelpOpen}
        onWhole={() => onCommand("whole")}
        onPicture={() => stage !== null && void savePicture(stage, target)}
        onExport={() => stage !== null && onExport(stage.viewport)}
      />
      {[...problems, ...(place.problem === null ? [] : [place.problem])].map((problem) => (
        <p key={problem} className="tl-warns tl-problem" role="status">
          {problem}
        </p>
      ))}
      <StageFrame stage={stage} stageRef={stageRef} headsRef={headsRef} layout={layout} arrangement={arrangement} arranging={arranging} />
      {helpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      {dragged === null && (sliceId !== null || place.range !== null) && (
        <PanelSlot slot={slot} onLeave={focusStage}>
          <Panel stage={stage} stack={stack} place={place} followed={followed} onExport={onExport} />
        </PanelSlot>
      )}
    </div>
  );
}

interface PanelProps {
  readonly stage: Stage | null;
  readonly stack: Stack;
  readonly place: Place;
  readonly followed: FollowedSlice;
  readonly onExport: (range: TimeRange) => void;
}

/** The selected slice, else the chosen range, else nothing. */
function Panel({ stage, stack, place, followed, onExport }: PanelProps) {
  const { sliceId, range, active } = place;
  const { slice } = followed;
  if (sliceId !== null) {
    const share = stage === null || slice === null ? null : shareOfStep(stage, slice.track, slice.start_ns, slice.start_ns + slice.dur_ns);
    const isStacked = (worker: string) => stack.parts.some((part) => part.worker === worker);
    const onPeer = (worker: string, id: number) => (isStacked(worker) ? followed.go(id, worker) : navigate({ worker, slice: String(id), on: null, at: null, range: null }));
    return (
      <SlicePanel
        trace={active.query}
        worker={stack.parts.length > 1 ? active.worker : null}
        id={sliceId}
        flows={followed.flows}
        share={share}
        onGo={followed.go}
        onPeer={onPeer}
        onClose={() => write({ slice: null })}
      />
    );
  }
  if (range === null) return null;
  return (
    <RangePanel
      trace={active.query}
      tracks={active.tracks}
      choice={stack.parts.length > 1 && <WorkerChoice stack={stack} active={active} />}
      range={inPart(active, range)}
      onShow={(next) => stage !== null && showRange(stage, fromPart(active, next))}
      onSelect={() => navigate({ steps: null, range: null, ...asSelection(range, stack.originUs) })}
      onExport={() => onExport(range)}
      onClose={() => write({ range: null })}
    />
  );
}

/** Whose range is summed up. */
function WorkerChoice({ stack, active }: { readonly stack: Stack; readonly active: StackPart }) {
  return (
    <select className="field" aria-label="Worker that is summed up" value={active.worker} onChange={({ target }) => write({ on: target.value === stack.parts[0].worker ? null : target.value })}>
      {stack.parts.map(({ worker }) => (
        <option key={worker} value={worker}>
          {worker}
        </option>
      ))}
    </select>
  );
}

function exportRange(range: TimeRange, part: StackPart, target: Target): void {
  const { tracks, query, worker } = part;
  const { startNs, endNs } = inPart(part, range);
  const inside = { startNs: Math.max(0, Math.floor(startNs)), endNs: Math.min(tracks.end_ns, Math.ceil(endNs)) };
  saveUrl(`${target.run.name}_${worker}_range.json`, apiUrl("perfetto", { ...query, ...asSelection(inside, tracks.origin_us) }));
}

async function savePicture(stage: Stage, target: Target): Promise<void> {
  const title = `${target.run.name} ${target.worker.name}`;
  const blob = await timelinePicture(stage, title);
  if (blob !== null) saveFile(`timeline_${title}.png`, "image/png", blob);
}
