/** A call stack: a button for every frame that has a file, text for the others. */
import { CopyButton } from "../app/CopyButton";
import { mapPath, parseFrame } from "./editor";
import { cannotJump, jumpToSource } from "./jump";
import { useEditorSettings } from "./settings";

/** The frames of a stack as one text: separated by `;` or line ends, innermost first. */
export function splitStack(stack: string): string[] {
  return stack
    .split(/[;\n]/)
    .map((frame) => frame.trim())
    .filter((frame) => frame !== "");
}

export function StackView({ stack }: { readonly stack: string }) {
  return (
    <ol className="stack">
      {splitStack(stack).map((frame, index) => (
        <li key={index}>
          <Frame text={frame} />
        </li>
      ))}
    </ol>
  );
}

function Frame({ text }: { readonly text: string }) {
  const settings = useEditorSettings();
  const parsed = parseFrame(text);
  if (parsed === null) return <span className="mono soft">{text}</span>;
  const { source, name } = parsed;
  const problem = cannotJump(source);
  const place = `${mapPath(source.path, settings)}:${source.line}`;
  return (
    <>
      <button
        type="button"
        className="frame-link mono"
        disabled={problem !== null}
        title={problem ?? `Open ${place}`}
        onClick={() => jumpToSource(source, settings)}
      >
        {source.path}:{source.line}
      </button>
      <span className="mono"> {name}</span>
      <CopyButton text={place} label="copy" title={`Copy ${place}`} className="button quiet copy" />
    </>
  );
}
