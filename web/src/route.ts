/** Where the page is: `#/agents/ID?run=2&line=120`. A link can be shared; back and forward work. */
import { signal } from "@preact/signals";

export interface Route {
  view: "home" | "agent" | "journal" | "health" | "cost";
  agent: string;
  query: URLSearchParams;
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, id] = path.split("/").map(decodeURIComponent);
  const known = { query: new URLSearchParams(query), agent: "" };
  if (view === "agents" && id) return { ...known, view: "agent", agent: id };
  if (view === "journal" || view === "health" || view === "cost") return { ...known, view };
  return { ...known, view: "home" };
}

export function agentLink(agent: string, at: Record<string, string | number | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(at)) if (value !== undefined) query.set(name, String(value));
  return `#/agents/${encodeURIComponent(agent)}${query.size > 0 ? `?${query}` : ""}`;
}

export function go(link: string): void {
  location.hash = link;
}

/** Changes the address without a new entry in the history: the place in a log moves often. */
export function rewrite(link: string): void {
  history.replaceState(null, "", link);
  route.value = parse(link);
}
