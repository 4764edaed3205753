/** A button that copies a text and confirms it. */
import { copyText } from "../lib/download";
import { useBriefMessage } from "./useBriefMessage";

interface Props {
  readonly text: string;
  readonly label?: string;
  readonly title?: string;
  readonly className?: string;
}

export function CopyButton({ text, label = "Copy", title, className = "button quiet" }: Props) {
  const [message, setMessage] = useBriefMessage();
  const copy = async () => setMessage((await copyText(text)) ? "Copied" : "The browser refused");
  return (
    <button type="button" className={className} title={title} onClick={() => void copy()}>
      <span role="status">{message ?? label}</span>
    </button>
  );
}
