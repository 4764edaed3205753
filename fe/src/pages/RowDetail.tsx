/** Parts of an open row. */
import { copyText } from "../lib/download";
import { StackView } from "../source/StackView";

export function FullName({ name }: { readonly name: string }) {
  return (
    <p className="full-name">
      {name}{" "}
      <button type="button" className="button quiet" onClick={() => void copyText(name)}>
        Copy
      </button>
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
