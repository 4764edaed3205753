/** A frame whose path is relative to a folder nobody named: why no editor opens it, and where to say. */
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
  const place = `${path}:${source.line}`;
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="A relative path">
      <div className="page-head">
        <h1>A relative path</h1>
        <span style={{ flex: 1 }} />
        <CopyButton text={place} label="Copy path:line" title={`Copy ${place}`} className="button" />
        <button type="button" className="button" disabled={isRelative(path) || cannotJump(source, settings) !== null} onClick={() => jumpToSource(source, settings)}>
          Open
        </button>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
      <p className="relative-path">
        <code className="mono">{place}</code>
      </p>
      <p>
        The trace says where this file lies only relative to a folder of the machine that recorded it, so no editor can find it. Name that
        folder’s place on this machine; the setting is kept, and stands under “Help and settings” (?).
      </p>
      <EditorForm />
    </dialog>
  );
}
