/** The names of the tracks at the left; groups and tracks of several lanes open and close. */
import { memo } from "react";

import { formatNumber } from "../lib/format";
import { canFold, groupKey, LANE_PX, PADDING_PX, type GroupRow, type Layout, type TrackRow } from "./layout";

interface Props {
  readonly layout: Layout;
  readonly onFold: (key: string, open: boolean) => void;
}

export const TrackHeads = memo(function TrackHeads({ layout, onFold }: Props) {
  return layout.rows.map((row) =>
    row.kind === "group" ? (
      <GroupHead key={groupKey(row.group)} row={row} onFold={onFold} />
    ) : (
      <TrackHead key={row.track.key} row={row} onFold={onFold} />
    ),
  );
});

function GroupHead({ row, onFold }: { readonly row: GroupRow; readonly onFold: Props["onFold"] }) {
  const { group, open } = row;
  return (
    <div className={`tl-head tl-group${group.parent === undefined ? "" : " tl-inner"}`} style={{ top: row.topPx, height: row.heightPx }}>
      <button type="button" className="tl-fold" aria-expanded={open} title={group.title} onClick={() => onFold(groupKey(group), !open)}>
        <Arrow open={open} />
        <strong>{group.title}</strong>
        {!open && <small className="soft">{formatNumber(row.tracks)} {row.tracks === 1 ? "track" : "tracks"}</small>}
        {group.note !== undefined && (
          <small className={group.note.warns ? "tl-warns" : "soft"} title={group.note.help}>
            {group.note.text}
          </small>
        )}
      </button>
    </div>
  );
}

function TrackHead({ row, onFold }: { readonly row: TrackRow; readonly onFold: Props["onFold"] }) {
  const { track, open } = row;
  const title = [track.title, track.subtitle, track.help].filter((text) => text !== null).join("\n");
  const text = (
    <>
      <span className="tl-name">{track.title}</span>
      {track.subtitle !== null && <small className="soft">{track.subtitle}</small>}
    </>
  );
  return (
    <div className="tl-head" style={{ top: row.topPx, height: row.heightPx }} data-track={track.key}>
      {canFold(track) ? (
        <button type="button" className="tl-fold" aria-expanded={open} title={title} onClick={() => onFold(track.key, !open)}>
          <Arrow open={open} />
          {text}
        </button>
      ) : (
        <span className="tl-fold" title={title}>
          <Arrow open={null} />
          {text}
        </span>
      )}
      {track.communication && <CommunicationMark />}
      {track.overlap_from !== null && <OverlapMark row={row} from={track.overlap_from} />}
      {open && track.lane_titles !== null && <LaneTitles titles={track.lane_titles} />}
    </div>
  );
}

function Arrow({ open }: { readonly open: boolean | null }) {
  return (
    <i className="tl-arrow" aria-hidden="true">
      {open === null ? "" : open ? "▾" : "▸"}
    </i>
  );
}

function CommunicationMark() {
  return <i className="swatch tl-mark" style={{ background: "var(--cat-communication)" }} role="img" aria-label="Communication" title="Most of its time is communication" />;
}

/** Lanes below this mark hold slices that overlap others of the track. */
function OverlapMark({ row, from }: { readonly row: TrackRow; readonly from: number }) {
  const lanes = row.track.lanes - from;
  const text = `Some slices here overlap others without nesting: ${lanes === 1 ? "they have a lane" : `they have ${lanes} lanes`} of their own, below.`;
  return (
    <>
      <span className="tl-overlap" title={text}>
        overlapping
      </span>
      {row.open && <i className="tl-overlap-line" style={{ top: PADDING_PX + from * LANE_PX - 1 }} />}
    </>
  );
}

function LaneTitles({ titles }: { readonly titles: readonly string[] }) {
  return titles.map((title, lane) => (
    <small key={title} className="tl-lane soft" style={{ top: PADDING_PX + lane * LANE_PX }}>
      {title}
    </small>
  ));
}
