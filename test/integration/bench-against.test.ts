import { expect, it } from "vitest";
import { compare, figureOf, rowsOf } from "../../bench/support/compare.ts";
import { table } from "../../bench/support/page.ts";
import { row } from "../../bench/support/row.ts";

it("a comparison is the median of the paired ratios between the order statistics of 95 %", () => {
  const theirs = Array.from({ length: 10 }, () => 2);
  expect(compare(theirs, theirs)).toEqual({ ratio: 1, low: 1, high: 1 });
  // Of ten pairs the second and the ninth: 97.9 %; the third and the eighth would be 89 %.
  expect(
    compare(
      [10, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      Array.from({ length: 10 }, () => 1),
    ),
  ).toEqual({ ratio: 5.5, low: 2, high: 9 });
  // Of six the first and the last: 96.9 %.
  expect(
    compare(
      [1, 2, 3, 4, 5, 60],
      Array.from({ length: 6 }, () => 1),
    ),
  ).toEqual({ ratio: 3.5, low: 1, high: 60 });
});

it("the figure of a row is its median, or else its first number; a printed table is read back", () => {
  expect(["best 1,003 ms, median 1,013.5 ms", "88.0 ms", "200 of 200 lines", "yes"].map(figureOf)).toEqual([
    1013.5,
    88,
    200,
    Number.NaN,
  ]);
  const rows = [
    row({ promise: "a", figure: "`x | y`", measured: "3 ms" }),
    row({ promise: "b", figure: "z", measured: "4" }),
  ];
  expect([...rowsOf(`about\n\n${table(rows)}\n`)]).toEqual([
    ["a: `x \\| y`", "3 ms"],
    ["b: z", "4"],
  ]);
});
