/** A call stack: a button for every frame that has a file, text for the others. */
import { useState } from "react";

import { visibleText } from "../lib/visibleText";
import { CopyButton } from "../ui/CopyButton";
import { mapPath, parseFrame, splitStack } from "./editor";
import { cannotJump, jumpToSource } from "./jump";
import { RelativePathDialog } from "./RelativePathDialog";
import { useEditorSettings } from "./settings";

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
  const [isOpen, setOpen] = useState(false);
  const parsed = parseFrame(text);
  if (parsed === null) return <span className="mono soft">{visibleText(text)}</span>;
  const { source, name } = parsed;
  const problem = cannotJump(source, settings);
  const location = `${mapPath(source.path, settings)}:${source.line}`;
  return (
    <>
      <button
        type="button"
        className="frame-link mono"
        disabled={problem !== null}
        title={problem ?? visibleText(`Open ${location}`)}
        onClick={() => setOpen(!jumpToSource(source, settings))}
      >
        {visibleText(source.path)}:{source.line}
      </button>
      <span className="mono"> {visibleText(name)}</span>
      <CopyButton text={location} label="copy" title={visibleText(`Copy ${location}`)} className="button quiet copy" />
      {isOpen && <RelativePathDialog source={source} onClose={() => setOpen(false)} />}
    </>
  );
}
