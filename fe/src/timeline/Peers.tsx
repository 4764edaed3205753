/** One collective on every rank, on one clock that is aligned on its end: a late rank makes the others wait. */
import type { TimelineFlowsAnswer } from "../generated/schema";
import { exactValue, formatNumber, formatValue } from "../lib/format";

interface Props {
  readonly answer: TimelineFlowsAnswer;
  readonly worker: string;
  /** To the slice of another rank. */
  readonly onPeer: (worker: string, id: number) => void;
}

interface Rank {
  readonly worker: string;
  readonly id: number;
  readonly startNs: number;
  readonly durNs: number;
  readonly isThis: boolean;
}

export interface Bar extends Rank {
  readonly leftPct: number;
  readonly widthPct: number;
}

/** The bars of the ranks between the first start and the last end. */
export function peerBars({ slice, flows }: TimelineFlowsAnswer, worker: string): Bar[] {
  const thisRank: Rank = { worker, id: slice.id, startNs: slice.start_ns, durNs: slice.dur_ns, isThis: true };
  const others = flows.flatMap(({ worker: other, source, target }) => {
    if (other === null) return [];
    const peer = source.id === slice.id ? target : source;
    return [{ worker: other, id: peer.id, startNs: peer.start_ns, durNs: peer.dur_ns, isThis: false }];
  });
  const ranks = [thisRank, ...others];
  const first = Math.min(...ranks.map(({ startNs }) => startNs));
  const span = Math.max(1, ...ranks.map(({ startNs, durNs }) => startNs + durNs - first));
  return ranks.map((rank) => ({ ...rank, leftPct: (100 * (rank.startNs - first)) / span, widthPct: (100 * rank.durNs) / span }));
}

export function Peers({ answer, worker, onPeer }: Props) {
  const bars = peerBars(answer, worker);
  if (bars.length < 2) return null;
  const hiddenCount = answer.flow_count - answer.flows.length;
  return (
    <section className="tl-peers" aria-label="The same collective on the other ranks">
      <h3 title="On one clock, aligned on the end of the collective. The others wait for the rank whose bar begins last.">On every rank</h3>
      {bars.map((bar) => (
        <div key={bar.worker} className="tl-peer">
          {bar.isThis ? (
            <strong title={bar.worker}>{bar.worker}</strong>
          ) : (
            <button type="button" className="frame-link" title={`To ${bar.worker}`} onClick={() => onPeer(bar.worker, bar.id)}>
              {bar.worker}
            </button>
          )}
          <span className="tl-peer-line">
            <i style={{ left: `${bar.leftPct}%`, width: `max(2px, ${bar.widthPct}%)` }} />
          </span>
          <span title={exactValue(bar.durNs / 1000, "us")}>{formatValue(bar.durNs / 1000, "us")}</span>
        </div>
      ))}
      {hiddenCount > 0 && <p className="soft">and {formatNumber(hiddenCount)} more</p>}
    </section>
  );
}
