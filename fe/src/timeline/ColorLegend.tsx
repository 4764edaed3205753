/** What the colours of the tracks mean. */
import type { TimelineCategoryPayload } from "../generated/schema";
import { useTheme } from "../ui/theme";
import type { ColorMode } from "./colors";
import { durationClasses } from "./durationColors";
import { categoryVariable } from "./paint";

export function ColorLegend({ mode, categories }: { readonly mode: ColorMode; readonly categories: readonly TimelineCategoryPayload[] }) {
  return (
    <ul className="tl-legend">
      {mode === "category" && <Categories categories={categories} />}
      {mode === "duration" && <Durations />}
      {mode === "name" && <li className="soft">Slices of one name have one colour. There are 35: of many names some share one.</li>}
      <li className="soft">Half-filled blocks are many narrow slices; the filled part is their busy share.</li>
    </ul>
  );
}

function Categories({ categories }: { readonly categories: readonly TimelineCategoryPayload[] }) {
  const byVariable = new Map<string, Set<string>>();
  for (const { key, title } of categories) {
    const variable = categoryVariable(key);
    byVariable.set(variable, (byVariable.get(variable) ?? new Set()).add(title));
  }
  return [...byVariable].map(([variable, titles]) => (
    <li key={variable}>
      <i className="swatch" style={{ background: `var(${variable})` }} />
      <span>{[...titles].join(", ")}</span>
    </li>
  ));
}

function Durations() {
  const classes = durationClasses(useTheme() === "dark");
  return (
    <>
      {classes.map(({ title, color }) => (
        <li key={title}>
          <i className="swatch" style={{ background: `rgb(${color.join(" ")})` }} />
          <span>{title}</span>
        </li>
      ))}
      <li className="soft">Of many narrow slices in one block: their mean.</li>
    </>
  );
}
