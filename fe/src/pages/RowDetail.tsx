/** Parts of an open row. */
import { CopyButton } from "../app/CopyButton";
import { StackView } from "../source/StackView";
import { ShowOnTimeline } from "../timeline/ShowOnTimeline";

export function FullName({ name }: { readonly name: string }) {
  return (
    <p className="full-name">
      {name}{" "}
      <CopyButton text={name} /> <ShowOnTimeline name={name} />
    </p>
  );
}

export function StackDetail({ stack }: { readonly stack: string }) {
  return (
    <section aria-label="Call stack">
      <h3>Call stack, innermost first</h3>
      <StackView stack={stack} />
    </section>
  );
}
