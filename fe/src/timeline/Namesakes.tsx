/** Durations of all slices of one name, and how the selected one compares. */
import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineNamesakesAnswer, TimelineNamesakesPayload } from "../generated/schema";
import { exactValue, formatNumber, withUnit } from "../lib/format";
import { scaleFor } from "../lib/units";
import { barsOf, positionText } from "./histogram";
import { Fact } from "./PanelFrame";

export function Namesakes({ trace, id }: { readonly trace: Query; readonly id: number }) {
  const answer = useAnswer<TimelineNamesakesAnswer>("timeline/namesakes", { ...trace, slice: id });
  if (answer.state !== "ready") return null;
  const { namesakes } = answer.data;
  if (namesakes.count < 2) return null;
  return (
    <section className="tl-namesakes" aria-label="Slices with this name">
      <h3 title="Durations of all slices with this name and category in the whole trace, whatever is selected.">All {formatNumber(namesakes.count)} with this name</h3>
      <Histogram namesakes={namesakes} />
      <Figures namesakes={namesakes} />
    </section>
  );
}

function Histogram({ namesakes }: { readonly namesakes: TimelineNamesakesPayload }) {
  const scale = scaleFor("us", namesakes.max_us);
  const position = positionText(namesakes);
  return (
    <figure className="tl-histogram" aria-label={`Histogram of durations; this one is ${position}`}>
      <div className="tl-bars">
        {barsOf(namesakes).map(({ left, width, height, isSelected, title }) => (
          <span key={left} className={isSelected ? "own" : undefined} title={isSelected ? `${title}, this one among them` : title} style={{ left: `${100 * left}%`, width: `${100 * width}%` }}>
            <i style={{ height: `${100 * height}%` }} />
          </span>
        ))}
      </div>
      <figcaption>
        <span>{withUnit(namesakes.min_us, scale, "us")}</span>
        <span>{namesakes.is_log ? "bins of equal ratio" : ""}</span>
        <span>{withUnit(namesakes.max_us, scale, "us")}</span>
      </figcaption>
    </figure>
  );
}

function Figures({ namesakes }: { readonly namesakes: TimelineNamesakesPayload }) {
  const scale = scaleFor("us", namesakes.max_us);
  const figures = [
    ["This one", namesakes.dur_us],
    ["Median", namesakes.median_us],
    ["Mean", namesakes.mean_us],
    ["95th percentile", namesakes.p95_us],
  ] as const;
  return (
    <dl className="facts">
      {figures.map(([title, us]) => (
        <Fact key={title} title={title}>
          <span title={exactValue(us, "us")}>{withUnit(us, scale, "us")}</span>
        </Fact>
      ))}
      <Fact title="Rank">{positionText(namesakes)}</Fact>
    </dl>
  );
}
