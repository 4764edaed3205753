/** Stage, toolbar and panels of one trace; what they share stands in the address. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { apiUrl, type Query } from "../api/client";
import type { TimelineTracksAnswer } from "../generated/schema";
import { saveFile, saveUrl } from "../lib/download";
import { traceQuery, type Target } from "../state/target";
import { adjust, navigate } from "../state/urlStore";
import { pickBox, runCommand, showRange } from "./commands";
import type { DragMode } from "./gestures";
import type { Command } from "./keys";
import { fold } from "./layout";
import { asSelection, foldingPatch, formatRange } from "./link";
import { timelinePicture } from "./picture";
import { RangePanel } from "./RangePanel";
import type { TimeRange } from "./scene";
import { SearchField } from "./SearchField";
import { SlicePanel } from "./SlicePanel";
import type { Stage } from "./stage";
import { StageFrame } from "./StageFrame";
import { shareOfStep } from "./stepShare";
import { KeyHelp, Toolbar } from "./Toolbar";
import { useAddressedViewport } from "./useAddressedViewport";
import { useFind } from "./useFind";
import { useFollowedSlice, type FollowedSlice } from "./useFollowedSlice";
import { useGestures, useMountedStage, useTheming } from "./useMountedStage";
import { usePlace, type Place } from "./usePlace";
import { useTimelineKeys } from "./useTimelineKeys";
import "./timeline.css";

interface Props {
  readonly tracks: TimelineTracksAnswer;
  readonly target: Target;
}

export function TimelineView({ tracks, target }: Props) {
  const traceText = JSON.stringify(traceQuery(target));
  const trace = useMemo(() => JSON.parse(traceText) as Query, [traceText]);
  const place = usePlace(tracks);
  const { folding, layout, mode, sliceId, selection, placed } = place;
  const { stage, stageRef, headsRef } = useMountedStage(tracks, trace);
  const followed = useFollowedSlice(stage, trace, sliceId, placed);
  const find = useFind(trace, sliceId, followed.go, placed);
  const searchField = useRef<HTMLInputElement>(null);
  const [dragMode, setDragMode] = useState<DragMode>("range");
  const [dragged, setDragged] = useState<TimeRange | null>(null);
  const [helpOpen, setHelpOpen] = useState(false);
  const range = dragged ?? place.range;

  useEffect(() => {
    const search = find.text === "" ? null : find.text.toLowerCase();
    stage?.update({ folding, mode, search, hits: find.hits, selected: followed.slice, flows: followed.flows?.flows ?? [], range, selection });
  }, [stage, folding, mode, find.text, find.hits, followed.slice, followed.flows, range, selection]);
  useTheming(stage);
  useAddressedViewport(stage, place.at, place.range ?? selection);
  useGestures(stage, {
    dragMode: () => dragMode,
    onRange: (next, done) => {
      setDragged(done ? null : next);
      if (done && next.endNs > next.startNs) adjust({ range: formatRange(next), slice: null });
    },
    onPick: (hit) => stage !== null && pickBox(stage, hit, followed.pick),
  });
  const onCommand = (command: Command) => {
    if (stage === null) return;
    const clear = () => (helpOpen ? setHelpOpen(false) : adjust(sliceId !== null ? { slice: null } : { range: null }));
    runCommand(command, { stage, followed, find, range: range ?? selection, focusSearch: () => searchField.current?.select(), clear });
  };
  useTimelineKeys(stage, { onCommand, onHelp: () => setHelpOpen(!helpOpen) });
  const onFold = useCallback((key: string, isOpen: boolean) => adjust(foldingPatch(fold(folding, key, isOpen))), [folding]);
  const onExport = (exported: TimeRange) => exportRange(exported, tracks, target);

  return (
    <div className="timeline">
      <Toolbar
        stage={stage}
        tracks={tracks}
        mode={mode}
        dragMode={dragMode}
        helpOpen={helpOpen}
        search={<SearchField field={searchField} text={find.text} answer={find.answer} onText={find.setText} onStep={find.step} />}
        onMode={(next) => adjust({ colors: next === "name" ? "name" : null })}
        onDragMode={setDragMode}
        onHelp={setHelpOpen}
        onWhole={() => onCommand("whole")}
        onPicture={() => stage !== null && void savePicture(stage, target)}
        onExport={() => stage !== null && onExport(stage.viewport)}
      />
      <StageFrame stage={stage} stageRef={stageRef} headsRef={headsRef} tracks={tracks} layout={layout} onFold={onFold} />
      {helpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      {dragged === null && <Panel stage={stage} trace={trace} tracks={tracks} place={place} followed={followed} onExport={onExport} />}
    </div>
  );
}

interface PanelProps {
  readonly stage: Stage | null;
  readonly trace: Query;
  readonly tracks: TimelineTracksAnswer;
  readonly place: Place;
  readonly followed: FollowedSlice;
  readonly onExport: (range: TimeRange) => void;
}

/** The selected slice, else the chosen range, else nothing. */
function Panel({ stage, trace, tracks, place, followed, onExport }: PanelProps) {
  const { sliceId, range } = place;
  const { slice } = followed;
  if (sliceId !== null) {
    const share = stage === null || slice === null ? null : shareOfStep(stage, slice.start_ns, slice.start_ns + slice.dur_ns);
    return <SlicePanel trace={trace} id={sliceId} flows={followed.flows} share={share} onGo={followed.go} onClose={() => adjust({ slice: null })} />;
  }
  if (range === null) return null;
  return (
    <RangePanel
      trace={trace}
      tracks={tracks}
      range={range}
      onShow={(next) => stage !== null && showRange(stage, next)}
      onSelect={() => navigate({ steps: null, range: null, ...asSelection(range, tracks.origin_us) })}
      onExport={() => onExport(range)}
      onClose={() => adjust({ range: null })}
    />
  );
}

function exportRange({ startNs, endNs }: TimeRange, tracks: TimelineTracksAnswer, target: Target): void {
  const inside = { startNs: Math.max(0, Math.floor(startNs)), endNs: Math.min(tracks.end_ns, Math.ceil(endNs)) };
  saveUrl(`${target.run.name}_${target.worker.name}_range.json`, apiUrl("perfetto", { ...traceQuery(target), ...asSelection(inside, tracks.origin_us) }));
}

async function savePicture(stage: Stage, target: Target): Promise<void> {
  const title = `${target.run.name} ${target.worker.name}`;
  const blob = await timelinePicture(stage, title);
  if (blob !== null) saveFile(`timeline_${title}.png`, "image/png", blob);
}
