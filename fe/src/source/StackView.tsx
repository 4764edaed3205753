/** A call stack: a button for every frame that has a file, text for the others. */
import { useState } from "react";

import { visibleText } from "../lib/visibleText";
import { CopyButton } from "../ui/CopyButton";
import { mapPath, parseFrame, splitStack } from "./editor";
import { cannotJump, jumpToSource } from "./jump";
import { RelativePathDialog } from "./RelativePathDialog";
import { useEditorSettings } from "./settings";

interface Props {
  readonly stack: string;
  /** Deeper frames are shown on demand; all by default. */
  readonly shownFrames?: number;
}

export function StackView({ stack, shownFrames = Infinity }: Props) {
  const [all, setAll] = useState(false);
  const frames = splitStack(stack);
  // One more costs no more room than the button.
  const isShortened = !all && frames.length > shownFrames + 1;
  return (
    <ol className="stack">
      {(isShortened ? frames.slice(0, shownFrames) : frames).map((frame, index) => (
        <li key={index}>
          <Frame text={frame} />
        </li>
      ))}
      {isShortened && (
        <li>
          <button type="button" className="missing-data" onClick={() => setAll(true)}>
            {frames.length - shownFrames} more frames
          </button>
        </li>
      )}
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
