/** Copies a text and says so. */
import { useEffect, useState } from "react";

import { copyText } from "../lib/download";

interface Props {
  readonly text: string;
  readonly label?: string;
  readonly title?: string;
  readonly className?: string;
}

const SAID_MS = 1500;

export function CopyButton({ text, label = "Copy", title, className = "button quiet" }: Props) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid((await copyText(text)) ? "Copied" : "The browser refused");
  return (
    <button type="button" className={className} title={title} onClick={() => void copy()}>
      <span role="status">{said ?? label}</span>
    </button>
  );
}
