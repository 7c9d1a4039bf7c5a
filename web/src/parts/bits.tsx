/** Small parts that every view shows. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { Tone } from "../../../src/core/state-words.ts";
import { Problem } from "../api.ts";
import { words } from "../format.ts";
import { VERDICT_TONES } from "../needs.ts";
import { Icon, type IconName } from "./icon.tsx";

export function Chip({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`chip ${tone}`}>{children}</span>;
}

export function Dot({ tone }: { tone: Tone }): JSX.Element {
  return <span class={`dot ${tone}`} aria-hidden="true" />;
}

export function VerdictChip({ verdict }: { verdict: string | null | undefined }): JSX.Element | null {
  if (!verdict) return null;
  return <Chip tone={VERDICT_TONES[verdict] ?? "quiet"}>{words(verdict)}</Chip>;
}

interface ButtonProps {
  icon?: IconName;
  kind?: "primary" | "danger" | "plain";
  label?: string;
  pressed?: boolean;
  disabled?: boolean;
  onClick?: () => void;
  type?: "button" | "submit";
  children?: ComponentChildren;
}

/** With `label` alone it is an icon whose name is told to those who cannot see it. */
export function Button(props: ButtonProps): JSX.Element {
  const { icon, kind = "plain", label, pressed, disabled, onClick, type = "button", children } = props;
  return (
    <button
      type={type}
      class={`button ${kind}${children === undefined ? " bare" : ""}`}
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A command for a terminal, copied by a click. */
export function Command({ text }: { text: string }): JSX.Element {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 1500);
  };
  return (
    <button type="button" class="command" onClick={copy} title="Copy">
      <span class="prompt">$</span> {text}
      <span class="copied">{copied.value ? "copied" : "copy"}</span>
    </button>
  );
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }): JSX.Element {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div class="fault" role="alert">
      <Icon name="warn" />
      <div>
        <p>{message}</p>
        {error instanceof Problem && error.hint && <p class="hint">{error.hint}</p>}
      </div>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <svg viewBox="0 0 160 90" aria-hidden="true">
        <circle class="moon" cx="112" cy="30" r="15" />
        <circle class="shade" cx="118" cy="26" r="13" />
        <path class="star" d="M40 20v6M37 23h6M66 34v4M64 36h4M138 54v4M136 56h4" />
        <path class="wave" d="M8 64c12-8 24-8 36 0s24 8 36 0 24-8 36 0 24 8 36 0" />
        <path class="wave far" d="M20 76c10-6 20-6 30 0s20 6 30 0 20-6 30 0 20 6 30 0" />
      </svg>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export interface CardProps {
  title: string;
  more?: ComponentChildren;
  children: ComponentChildren;
}

export function Card({ title, more, children }: CardProps): JSX.Element {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {more}
      </header>
      {children}
    </section>
  );
}

/** One figure. */
export function Tile({ title, value, note }: { title: string; value: string; note: ComponentChildren }): JSX.Element {
  return (
    <section class="tile">
      <h2>{title}</h2>
      <p class="value">{value}</p>
      <div class="meta">{note}</div>
    </section>
  );
}

interface SearchBoxProps {
  label: string;
  placeholder: string;
  value: string;
  onInput: (text: string) => void;
}

/** The key "/" leads to it. */
export function SearchBox({ label, placeholder, value, onInput }: SearchBoxProps): JSX.Element {
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        data-filter
        placeholder={placeholder}
        aria-label={label}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <kbd>/</kbd>
    </label>
  );
}

interface TabsProps<T extends string> {
  label: string;
  of: readonly { value: T; text: ComponentChildren }[];
  value: T;
  onChange: (value: T) => void;
}

/** One of a few. */
export function Segments<T extends string>({ label, of, value, onChange }: TabsProps<T>): JSX.Element {
  return (
    <fieldset class="segments" aria-label={label}>
      {of.map((one) => (
        <button type="button" key={one.value} aria-pressed={one.value === value} onClick={() => onChange(one.value)}>
          {one.text}
        </button>
      ))}
    </fieldset>
  );
}
