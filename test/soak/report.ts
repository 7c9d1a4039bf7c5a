/** What a campaign did. A failure says round, seed and what was wrong; none means that everything held. */
export interface Report {
  name: string;
  count: number;
  seed: number;
  failures: string[];
  /** Figures seen; printed, never asserted. */
  figures: Record<string, number | string>;
  tookMs: number;
}

export async function campaign(
  name: string,
  count: number,
  seed: number,
  act: (fail: (what: string) => void, figures: Report["figures"]) => Promise<void>,
): Promise<Report> {
  const begun = performance.now();
  const failures: string[] = [];
  const figures: Report["figures"] = {};
  try {
    await act((what) => void failures.push(what), figures);
  } catch (error) {
    failures.push(`ended by ${error instanceof Error ? error.stack : error}`);
  }
  return { name, count, seed, failures, figures, tookMs: Math.round(performance.now() - begun) };
}

/** What a campaign may take inside the suite; `npm run soak` does all its rounds. */
const SUITE_MS = 25_000;

/** The numbers of the rounds. In the suite time bounds them too: a slow machine does fewer of them, and at least one. */
export function* rounds(count: number): Generator<number> {
  const end = process.env["VITEST"] ? performance.now() + SUITE_MS : Number.POSITIVE_INFINITY;
  for (let round = 0; round < count && (round === 0 || performance.now() < end); round++) yield round;
}

export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0);
}
