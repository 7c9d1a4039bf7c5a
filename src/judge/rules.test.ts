import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { RULES, type Share } from "./rules.ts";

it("docs/watch.md lists every rule with its thresholds, and nothing else", () => {
  const text = readFileSync(new URL("../../docs/watch.md", import.meta.url), "utf8");
  const section = text.slice(text.indexOf("## Rules"), text.indexOf("## Measured"));
  const rows = [
    ...section.matchAll(/^\| (\w+) \| (.+?) \| ([\w.]+) \| ([\w.]+) \| (\w+) \| ([\d. /of]+) \| (.+) \|$/gm),
  ];
  const cases = ({ right, of }: Share): string => (of === 0 ? String(right) : `${right} of ${of}`);
  const shown = (value: number): string => (Number.isFinite(value) ? String(value) : "never");
  expect(rows.map(([, ...cells]) => cells)).toEqual(
    Object.entries(RULES).map(([name, { about, watch, alert, verdict, precision, source }]) => [
      name,
      about,
      shown(watch),
      shown(alert),
      verdict,
      `${cases(precision.watch)} / ${cases(precision.alert)}`,
      source,
    ]),
  );
});
