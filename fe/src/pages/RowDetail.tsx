/** Parts of the detail of a row. */
import { visibleText } from "../lib/visibleText";
import { StackView } from "../source/StackView";
import { ShowOnTimeline } from "../timeline/ShowOnTimeline";
import { CopyButton } from "../ui/CopyButton";

interface FullNameProps {
  /** The recorded name. */
  readonly name: string;
  /** The demangled name, if it differs. */
  readonly demangled?: string;
}

export function FullName({ name, demangled = "" }: FullNameProps) {
  return (
    <p className="full-name">
      {demangled !== "" && demangled !== name && (
        <>
          {visibleText(demangled)} <CopyButton text={demangled} />
          <br />
        </>
      )}
      {visibleText(name)} <CopyButton text={name} /> <ShowOnTimeline name={name} />
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
