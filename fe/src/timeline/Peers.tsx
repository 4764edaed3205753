/** One collective on every rank, on one clock that is aligned on its end: who comes late lets the others wait. */
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

/** Where the bars of the ranks lie between the first start and the last end. */
export function peerBars({ slice, flows }: TimelineFlowsAnswer, worker: string): Bar[] {
  const own: Rank = { worker, id: slice.id, startNs: slice.start_ns, durNs: slice.dur_ns, isThis: true };
  const others = flows.flatMap(({ worker: other, source, target }) => {
    if (other === null) return [];
    const there = source.id === slice.id ? target : source;
    return [{ worker: other, id: there.id, startNs: there.start_ns, durNs: there.dur_ns, isThis: false }];
  });
  const ranks = [own, ...others];
  const first = Math.min(...ranks.map(({ startNs }) => startNs));
  const span = Math.max(1, ...ranks.map(({ startNs, durNs }) => startNs + durNs - first));
  return ranks.map((rank) => ({ ...rank, leftPct: (100 * (rank.startNs - first)) / span, widthPct: (100 * rank.durNs) / span }));
}

export function Peers({ answer, worker, onPeer }: Props) {
  const bars = peerBars(answer, worker);
  if (bars.length < 2) return null;
  const untold = answer.flow_count - answer.flows.length;
  return (
    <section className="tl-peers" aria-label="The same collective on the other ranks">
      <h3 title="On one clock, aligned on the end of the collective. A rank whose bar begins last is the one the others wait for.">On every rank</h3>
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
      {untold > 0 && <p className="soft">and {formatNumber(untold)} more</p>}
    </section>
  );
}
