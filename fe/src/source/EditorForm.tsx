/** Settings: which editor opens source lines, and where the source files are on this machine. */
import { useId } from "react";

import { editorProblem, EDITORS, type EditorName, type EditorSettings } from "./editor";
import { saveEditorSettings, useEditorSettings } from "./settings";

export function EditorForm() {
  const settings = useEditorSettings();
  const problem = editorProblem(settings);
  const problemId = useId();
  return (
    <section className="editor-form">
      <h2>Jump to source</h2>
      <label>
        Editor
        <select
          className="field"
          value={settings.editor}
          onChange={({ target }) => saveEditorSettings({ ...settings, editor: target.value as EditorName })}
        >
          {Object.entries(EDITORS).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {settings.editor === "vscode-remote" && <Text label="Remote" name="remote" placeholder="ssh-remote+host" problemId={problem === null ? null : problemId} />}
      {settings.editor === "template" && (
        <Text label="URL template" name="template" placeholder="zed://file{path}:{line}:{column}" problemId={problem === null ? null : problemId} />
      )}
      {problem !== null && (
        <p id={problemId} className="problem" role="status">
          {problem}
        </p>
      )}
      <Text label="Path prefix in the trace" name="from" placeholder="/workspace" />
      <Text label="Path prefix on this machine" name="to" placeholder="/home/me/src/model" />
      <Text label="Folder of relative paths" name="relativeTo" placeholder="/home/me/venv/lib/python3.12/site-packages" />
      <p className="soft">
        PyTorch records paths relative to the folder Python imports from, such as <code className="mono">torch/nn/modules/module.py</code>: enter
        this folder on your machine. The prefixes apply to relative paths too, for when one folder is not enough.
      </p>
    </section>
  );
}

interface TextProps {
  readonly label: string;
  readonly name: Exclude<keyof EditorSettings, "editor">;
  readonly placeholder: string;
  /** Id of the element with the problem of the setting. */
  readonly problemId?: string | null;
}

function Text({ label, name, placeholder, problemId = null }: TextProps) {
  const settings = useEditorSettings();
  return (
    <label>
      {label}
      <input
        className="field"
        placeholder={placeholder}
        value={settings[name]}
        spellCheck={false}
        aria-invalid={problemId !== null}
        aria-describedby={problemId ?? undefined}
        onChange={({ target }) => saveEditorSettings({ ...settings, [name]: target.value })}
      />
    </label>
  );
}
