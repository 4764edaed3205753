/** A button and the panel it opens. Escape or a click elsewhere closes it. */
import { useEffect, useRef, useState, type ReactNode } from "react";

interface Props {
  readonly label: ReactNode;
  readonly title?: string;
  readonly className?: string;
  readonly align?: "left" | "right";
  readonly children: (close: () => void) => ReactNode;
}

export function Popover({ label, title, className = "button", align = "right", children }: Props) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!open) return;
    const onPointer = (event: PointerEvent) => {
      if (anchor.current?.contains(event.target as Node) === false) setOpen(false);
    };
    document.addEventListener("pointerdown", onPointer);
    return () => document.removeEventListener("pointerdown", onPointer);
  }, [open]);
  return (
    <span
      className="anchor"
      ref={anchor}
      onKeyDown={(event) => {
        if (event.key === "Escape" && open) {
          event.stopPropagation();
          setOpen(false);
          anchor.current?.querySelector("button")?.focus();
        }
      }}
    >
      <button type="button" className={className} title={title} aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}
      </button>
      {open && (
        <div className="popover" style={align === "right" ? { right: 0, top: 32 } : { left: 0, top: 32 }}>
          {children(() => setOpen(false))}
        </div>
      )}
    </span>
  );
}
