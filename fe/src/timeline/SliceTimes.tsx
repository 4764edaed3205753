/** When a slice ran, for how long, and on what. */
import type { SlicePayload } from "../generated/schema";
import { visibleText } from "../lib/visibleText";
import { Fact } from "./PanelFrame";
import { momentsOf, rowsOf, timesOf, timeTexts } from "./sliceFacts";

interface Props {
  readonly detail: SlicePayload;
  /** Trace time of the first slice. */
  readonly originUs: number;
  /** "12 % of ProfilerStep#5". */
  readonly share: string | null;
  /** Whose slice it is, when there are several. */
  readonly worker: string | null;
}

export function SliceTimes({ detail, originUs, share, worker }: Props) {
  const times = timesOf(detail);
  const texts = timeTexts(times);
  return (
    <dl className="facts">
      {times.map(({ title, help }, index) => (
        <Fact key={title} title={title}>
          <span title={help}>{texts[index]}</span>
          {title === "Duration" && share !== null && <span className="soft"> · {share}</span>}
        </Fact>
      ))}
      {momentsOf(detail, originUs).map(({ title, text, help }) => (
        <Fact key={title} title={title}>
          <span title={help}>{text}</span>
        </Fact>
      ))}
      <Fact title="Kind">{visibleText(detail.raw_category ?? detail.category)}</Fact>
      {worker !== null && <Fact title="Worker">{worker}</Fact>}
      {detail.step !== null && <Fact title="Step">{visibleText(detail.step)}</Fact>}
      {rowsOf(detail).map(([title, text]) => (
        <Fact key={title} title={title}>
          {visibleText(text)}
        </Fact>
      ))}
      {detail.correlation !== null && <Fact title="Correlation">{detail.correlation}</Fact>}
    </dl>
  );
}
