/** The name of one group or track, with the buttons that open, close and pin it. */
import { memo, useId } from "react";

import { formatNumber } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { canFold, groupKey, LANE_PX, PADDING_PX, type GroupRow, type TrackRow } from "./layout";
import { workerOfBand } from "./stack";
import type { Arranging } from "./useArranging";

interface Props<R> {
  readonly row: R;
  /** Whether the tab key reaches it: exactly one of all headers. */
  readonly isCurrent: boolean;
  readonly arranging: Arranging;
}

export const GroupHeader = memo(function GroupHeader({ row, isCurrent, arranging }: Props<GroupRow>) {
  const { group, open } = row;
  return (
    <div className={`tl-head tl-group${group.parent === undefined ? "" : " tl-inner"}`} style={{ top: row.topPx, height: row.heightPx }} data-row={groupKey(group)}>
      <button type="button" className="tl-fold" tabIndex={isCurrent ? 0 : -1} aria-expanded={open} title={group.title} onClick={() => arranging.onFold(groupKey(group), !open)}>
        <Arrow open={open} />
        <strong>{visibleText(group.title)}</strong>
        {!open && <small className="soft">{formatNumber(row.tracks)} {row.tracks === 1 ? "track" : "tracks"}</small>}
        {group.note !== undefined && (
          <small className={group.note.warns ? "tl-warns" : "soft"} title={group.note.help}>
            {group.note.text}
          </small>
        )}
      </button>
    </div>
  );
});

export const TrackHeader = memo(function TrackHeader({ row, isCurrent, arranging }: Props<TrackRow>) {
  const { track, open, pinned, home } = row;
  const nameId = useId();
  const band = workerOfBand(track.key);
  const subtitle = pinned ? home : track.subtitle;
  const title = [track.title, pinned ? home : null, track.subtitle, track.help].filter((text) => text !== null).join("\n");
  const tabIndex = isCurrent ? 0 : -1;
  const text = (
    <>
      <span className="tl-name" id={nameId}>
        {visibleText(track.title)}
      </span>
      {subtitle !== null && <small className="soft">{visibleText(subtitle)}</small>}
    </>
  );
  return (
    <div className={`tl-head${pinned ? " tl-pinned" : ""}`} style={{ top: row.topPx, height: row.heightPx }} data-row={track.key} data-track={track.key}>
      {band !== null ? (
        <button type="button" className="tl-fold" tabIndex={tabIndex} aria-expanded={arranging.openRanks.has(band)} title={`${band}\n${arranging.openRanks.has(band) ? "Close its tracks" : "Show its tracks above"}`} onClick={() => arranging.onRank(band)}>
          <Arrow open={arranging.openRanks.has(band)} />
          {text}
        </button>
      ) : canFold(track) ? (
        <button type="button" className="tl-fold" tabIndex={tabIndex} aria-expanded={open} title={title} onClick={() => arranging.onFold(track.key, !open)}>
          <Arrow open={open} />
          {text}
        </button>
      ) : (
        <span className="tl-fold" title={title}>
          <Arrow open={null} />
          {text}
        </span>
      )}
      <button
        type="button"
        className="tl-pin"
        tabIndex={tabIndex}
        aria-pressed={pinned}
        aria-label="Pin to the top"
        aria-describedby={nameId}
        title={pinned ? "Unpin (p)" : "Pin to the top (p)"}
        onClick={() => arranging.onPin(track.key)}
      >
        <PinIcon />
      </button>
      {track.communication && <CommunicationMark />}
      {track.overlap_from !== null && <OverlapMark row={row} from={track.overlap_from} />}
      {open && track.lane_titles !== null && <LaneTitles titles={track.lane_titles} />}
    </div>
  );
});

function Arrow({ open }: { readonly open: boolean | null }) {
  return (
    <i className="tl-arrow" aria-hidden="true">
      {open === null ? "" : open ? "▾" : "▸"}
    </i>
  );
}

const PinIcon = () => (
  <svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
    <path d="M5 2h6M6 2v5L4 10h8l-2-3V2M8 10v5" />
  </svg>
);

function CommunicationMark() {
  return <i className="swatch tl-mark" style={{ background: "var(--cat-communication)" }} role="img" aria-label="Communication" title="Mainly communication" />;
}

/** Lanes below this mark hold slices that overlap others of the track. */
function OverlapMark({ row, from }: { readonly row: TrackRow; readonly from: number }) {
  const lanes = row.track.lanes - from;
  const text = `Some slices overlap others without nesting: they are in ${lanes === 1 ? "a separate lane" : `${lanes} separate lanes`} below.`;
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
