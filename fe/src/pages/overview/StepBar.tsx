/** The average step as one bar, its idle part bracketed, and the longest gap with a link to it. */
import type { Fact, View } from "../../api/types";
import { colorVariable } from "../../chart/palette";
import { ShareBar, type SharePart } from "../../chart/ShareCard";
import { formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";
import { ShowRangeOnTimeline } from "../../timeline/ShowOnTimeline";
import { deviceWord } from "./dashboardFacts";
import { gapOf, idleBracket } from "./stepBarLabels";

interface Props {
  readonly view: View;
  readonly fileName: string;
}

export function StepBar({ view, fileName }: Props) {
  const { average_step: table, gpus } = view.tables;
  if (table === undefined) return null;
  const parts = table.rows.map((row): SharePart => {
    const name = textOf(table, row, "category");
    return { name, us: numberOf(table, row, "duration_us"), pct: numberOf(table, row, "pct"), color: colorVariable(name) };
  });
  if (parts.every(({ us }) => us === null)) return null;
  const idle = gpus === undefined ? null : idleBracket(parts, gpus);
  const gap = gapOf(view);
  return (
    <div data-table="average_step">
      <ShareBar
        title={table.title}
        help={table.help}
        subtitle={[lengthText(view.facts), gpus !== undefined && gpus.row_count > 1 ? `all ${deviceWord(gpus)}s together` : ""].filter((text) => text !== "").join("; ")}
        parts={parts}
        nullReason={table.null_reasons["duration_us"] ?? "Does not apply here."}
        fileName={fileName}
        below={
          idle !== null && (
            <div className="bracket" style={{ marginLeft: `${idle.startPct}%`, width: `${100 - idle.startPct}%` }}>
              {idle.text}
            </div>
          )
        }
        note={
          gap !== null && (
            <p className="longest-gap">
              <span>
                Longest gap: <b>{gap.length}</b>
                {gap.where}
              </span>
              <ShowRangeOnTimeline range={gap.range} />
            </p>
          )
        }
      />
    </div>
  );
}

/** "178 ms, mean of 6 steps" */
function lengthText(facts: readonly Fact[]): string {
  const value = (key: string) => facts.find((fact) => fact.key === key)?.value ?? null;
  const [length, count] = [value("average_step_us"), value("step_count")];
  if (typeof length !== "number") return "";
  const text = formatValue(length, "us");
  return typeof count === "number" && count > 1 ? `${text}, mean of ${formatValue(count, "count")} steps` : text;
}
