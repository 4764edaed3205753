/** Why pages or tabs have nothing to show, those with the same reason together. */
import { visibleText } from "../lib/visibleText";

export interface Missing {
  readonly title: string;
  readonly reason: string;
}

export function MissingReasons({ missing }: { readonly missing: readonly Missing[] }) {
  const reasons = [...new Set(missing.map(({ reason }) => reason))];
  return (
    <dl className="missing-reasons">
      {reasons.map((reason) => (
        <div key={reason}>
          <dt>{missing.filter((each) => each.reason === reason).map(({ title }) => title).join(", ")}</dt>
          <dd>{visibleText(reason)}</dd>
        </div>
      ))}
    </dl>
  );
}
