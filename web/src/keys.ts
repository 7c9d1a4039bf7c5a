/** The keyboard. One table a view; `g` waits a moment for the letter of a place. */
import { signal } from "@preact/signals";
import { go } from "./route.ts";

export type Keys = Readonly<Record<string, () => void>>;

const PLACES: Readonly<Record<string, string>> = { w: "#/", j: "#/journal", h: "#/health", c: "#/cost" };
const PREFIX_MS = 1200;

export const helpOpen = signal(false);
export const startOpen = signal(false);

const layers: Keys[] = [];
let prefixAt = Number.NEGATIVE_INFINITY;

/** Keys of a view, until the returned function is called; the last view asked first. */
export function withKeys(keys: Keys): () => void {
  layers.push(keys);
  return () => {
    layers.splice(layers.indexOf(keys), 1);
  };
}

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("dialog")) return;
    if (target.matches("input, textarea, select")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const run = actionOf(event);
    if (run === undefined) return;
    event.preventDefault();
    run();
  });
}

function actionOf(event: KeyboardEvent): (() => void) | undefined {
  const place = PLACES[event.key];
  if (performance.now() - prefixAt < PREFIX_MS && place !== undefined) {
    prefixAt = Number.NEGATIVE_INFINITY;
    return () => go(place);
  }
  if (event.key === "g") {
    return () => {
      prefixAt = performance.now();
    };
  }
  // A focused link or button has its own Enter and Space.
  if ((event.key === "Enter" || event.key === " ") && (event.target as HTMLElement).matches("a, button, summary"))
    return undefined;
  for (const keys of layers.toReversed()) if (keys[event.key] !== undefined) return keys[event.key];
  return COMMON[event.key];
}

const COMMON: Keys = {
  "?": () => {
    helpOpen.value = true;
  },
  s: () => {
    startOpen.value = true;
  },
  "/": () => document.querySelector<HTMLInputElement>("[data-filter]")?.focus(),
};
