/** A message of a button about its last action, shown for a moment. */
import { useEffect, useState } from "react";

const MESSAGE_MS = 1500;

export function useBriefMessage(): readonly [string | null, (text: string) => void] {
  const [message, setMessage] = useState<string | null>(null);
  useEffect(() => {
    if (message === null) return;
    const timer = setTimeout(() => setMessage(null), MESSAGE_MS);
    return () => clearTimeout(timer);
  }, [message]);
  return [message, setMessage];
}
