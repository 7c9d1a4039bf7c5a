import { expect, it } from "vitest";
import { Words } from "./words.ts";

const TASK = `TimeSeries gives a misleading exception when a required column is removed: BinnedTimeSeries and
TimeSeries check required_columns in autocheck and name only the first of them, although flux and time are both required.`;
const NEAR =
  "grep required_columns astropy/timeseries/core.py; the BinnedTimeSeries autocheck compares flux with colnames";
const FAR = (index: number): string =>
  `edit migrations/autodetector${index}.py: ForeignKey rename of swappable dependency in ProjectState alters constraint unique together permission queryset ${index}`;

function feed(words: Words, texts: readonly string[]): number[] {
  return texts.map((text) => words.add(text));
}

it("counts steps that are about something else, and starts anew when they come back", () => {
  const words = new Words(TASK);
  expect(words.rich).toBe(true);
  const away = feed(words, [...Array(13).fill(NEAR), ...Array.from({ length: 8 }, (_, index) => FAR(index))]);
  expect(away.slice(0, 13)).toEqual(Array(13).fill(0));
  expect(away.at(-1)).toBeGreaterThanOrEqual(3);
  expect(feed(words, Array(5).fill(NEAR)).at(-1)).toBe(0);
});

it("tells nothing where no step ever had to do with the task, and is told more of it", () => {
  const never = new Words(TASK);
  expect(
    feed(
      never,
      Array.from({ length: 30 }, (_, index) => FAR(index)),
    ).at(-1),
  ).toBe(0);
  const asked = new Words(TASK);
  feed(asked, Array(13).fill(NEAR));
  asked.learn(FAR(0));
  expect(
    feed(
      asked,
      Array.from({ length: 12 }, (_, index) => FAR(index)),
    ).at(-1),
  ).toBe(0);
});

it("words that the task led to count as its own", () => {
  const words = new Words(TASK);
  feed(words, Array(3).fill(`${NEAR} sampled aggregate downsample folding periodogram`));
  expect(feed(words, Array(8).fill("open sampled aggregate downsample folding periodogram lightcurve")).at(-1)).toBe(0);
});

it("tells nothing of a poor task or of an agent that says little", () => {
  const poor = new Words("fix the bug");
  expect(poor.rich).toBe(false);
  expect(
    feed(
      poor,
      Array.from({ length: 20 }, (_, index) => FAR(index)),
    ).at(-1),
  ).toBe(0);
  expect(feed(new Words(TASK), Array(20).fill("ls -la")).at(-1)).toBe(0);
});
