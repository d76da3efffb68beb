/** A button that opens what lies behind it; a click elsewhere or Esc closes it. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface MenuProps {
  name: string;
  title: string;
  label: string;
  /** A click inside does not close it. */
  stays?: boolean;
  children: ComponentChildren;
}

export function Menu({ name, title, label, stays, children }: MenuProps): JSX.Element {
  const details = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    const leave = (event: Event) => {
      if (details.current && !event.composedPath().includes(details.current)) details.current.open = false;
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, []);
  return (
    <details
      class="menu"
      data-control={name}
      ref={details}
      onClick={(event) => {
        if (!stays && (event.target as Element).closest(".menu-list")) details.current!.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !details.current!.open) return;
        event.stopPropagation();
        details.current!.open = false;
      }}
    >
      <summary class="icon" title={title}>{label}</summary>
      <div class="menu-list">{children}</div>
    </details>
  );
}
