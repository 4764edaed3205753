/** A frame with a relative path and no folder for it: why no editor can open it, and the setting for it. */
import { useEffect, useRef } from "react";

import { CopyButton } from "../ui/CopyButton";
import { isRelative, mapPath, type SourceLine } from "./editor";
import { EditorForm } from "./EditorForm";
import { cannotJump, jumpToSource } from "./jump";
import { useEditorSettings } from "./settings";

interface Props {
  readonly source: SourceLine;
  readonly onClose: () => void;
}

export function RelativePathDialog({ source, onClose }: Props) {
  const settings = useEditorSettings();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const path = mapPath(source.path, settings);
  const location = `${path}:${source.line}`;
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Relative path">
      <div className="page-head">
        <h1>Relative path</h1>
        <span style={{ flex: 1 }} />
        <CopyButton text={location} label="Copy path:line" title={`Copy ${location}`} className="button" />
        <button type="button" className="button" disabled={isRelative(path) || cannotJump(source, settings) !== null} onClick={() => jumpToSource(source, settings)}>
          Open
        </button>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
      <p className="relative-path">
        <code className="mono">{location}</code>
      </p>
      <p>
        The path in the trace is relative to a folder of the machine that recorded it, so no editor can find the file. Enter that folder on
        this machine; the setting is saved and can be changed under “Help and settings” (?).
      </p>
      <EditorForm />
    </dialog>
  );
}
