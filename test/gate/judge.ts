/** Which demands a whole run has proven. Pure: what is cited and what ran in, a verdict for each id out. */
import type { Requirement } from "../requirements.ts";
import { type Citation, isOf } from "./citations.ts";

export interface Ran {
  file: string;
  ids: string[];
  title: string;
  state: "passed" | "failed" | "skipped" | "retried";
  /** What a skipped one printed: `SKIPPED: reason`. */
  reasons?: string[];
}

export interface Verdict {
  result: "proven" | "unproven" | "failed" | "later" | "not applicable";
  /** A line for each test that did not prove it, or what it waits for. */
  why: string[];
}

/** What a machine may lack through no fault of ours: rights, parts of the kernel, programs. Any other reason to skip is a failure. */
const OF_THE_MACHINE =
  /\broot\b|cgroup|namespace|loop device|mounted|\binstalled\b|[Tt]here is no |is not here|\b[Nn]o \w+( or no \w+)* here|no \w+ but loopback|not built/;

export const isOfTheMachine = (reason: string): boolean => OF_THE_MACHINE.test(reason);

/** strict: nothing is excused, because this machine is there to prove all of it. */
export function judge(
  requirements: Record<string, Requirement>,
  cited: readonly Citation[],
  ran: readonly Ran[],
  strict: boolean,
): Map<string, Verdict> {
  return new Map(
    Object.entries(requirements).map(([id, { later, notApplicable }]) => {
      if (later !== undefined) return [id, { result: "later", why: [later] }];
      if (notApplicable !== undefined) return [id, { result: "not applicable", why: [notApplicable] }];
      const of = <T extends { ids: string[] }>(list: readonly T[]): T[] => list.filter(({ ids }) => ids.includes(id));
      return [id, verdict(of(cited), of(ran), strict)];
    }),
  );
}

function verdict(cited: readonly Citation[], ran: readonly Ran[], strict: boolean): Verdict {
  if (cited.length === 0) return { result: "failed", why: ["no test cites it"] };
  const absent = cited.filter(({ file, title }) => !ran.some((one) => one.file === file && isOf(title, one.title)));
  const unfit = ran.filter(({ state }) => state !== "passed");
  const excused = unfit.filter((one) => !strict && isExcused(one));
  const why = [
    ...absent.map(({ file, title }) => `${file}: did not run: ${title}`),
    ...unfit.map(
      ({ file, title, state, reasons }) =>
        `${file}: ${state}${reasons?.length ? ` (${reasons.join("; ")})` : ""}: ${title}`,
    ),
  ];
  if (absent.length > 0 || excused.length < unfit.length) return { result: "failed", why };
  return { result: unfit.length > 0 ? "unproven" : "proven", why };
}

const isExcused = ({ state, reasons = [] }: Ran): boolean =>
  state === "skipped" && reasons.length > 0 && reasons.every(isOfTheMachine);
