/** Light, dark, or as the system has it; remembered by this browser. */
import { computed, effect, signal } from "@preact/signals";
import { remember, remembered } from "./storage.ts";

export type Theme = "auto" | "light" | "dark";

const KEY = "midwatch.theme";
const NEXT: Readonly<Record<Theme, Theme>> = { auto: "light", light: "dark", dark: "auto" };

export const theme = signal<Theme>((remembered(KEY) as Theme | null) ?? "auto");

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);

/** The colours that are shown. */
export const colours = computed(() => (theme.value === "auto" ? (systemIsDark.value ? "dark" : "light") : theme.value));

export function nextTheme(): void {
  theme.value = NEXT[theme.value];
}

export function watchTheme(): void {
  system.addEventListener("change", () => {
    systemIsDark.value = system.matches;
  });
  effect(() => {
    document.documentElement.dataset["theme"] = colours.value;
  });
  effect(() => remember(KEY, theme.value));
}
