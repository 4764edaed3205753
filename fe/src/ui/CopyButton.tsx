/** Copies a text and says so. */
import { copyText } from "../lib/download";
import { useBriefMessage } from "./useBriefMessage";

interface Props {
  readonly text: string;
  readonly label?: string;
  readonly title?: string;
  readonly className?: string;
}

export function CopyButton({ text, label = "Copy", title, className = "button quiet" }: Props) {
  const [said, setSaid] = useBriefMessage();
  const copy = async () => setSaid((await copyText(text)) ? "Copied" : "The browser refused");
  return (
    <button type="button" className={className} title={title} onClick={() => void copy()}>
      <span role="status">{said ?? label}</span>
    </button>
  );
}
