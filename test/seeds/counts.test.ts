/** docs/seeds.md tells how many snippets of each document run, where, and how many deviations it lists: the counts are those of the list and the page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../gate/citations.ts";
import { snippets } from "./snippets.ts";

const page = readFileSync(join(ROOT, "docs/seeds.md"), "utf8");
const rows = [...page.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)].map(([, id = "", rest = ""]) => ({
  id,
  cells: rest.split(" | "),
}));

it("each snippet names a test that is there, or says why nothing runs it", () => {
  const sources = new Map<string, string>();
  const source = (file: string): string => {
    const text = sources.get(file) ?? readFileSync(join(ROOT, "test", file), "utf8");
    sources.set(file, text);
    return text;
  };
  const titled = (file: string, title: string): boolean =>
    source(file)
      .split("\n")
      .some((line) => line.includes(title) && /["'`]/.test(line) && !line.trimStart().startsWith("//"));
  const missing = Object.entries(snippets).flatMap(([id, all]) =>
    all
      .filter(({ file, title, not }) => (file === undefined || title === undefined ? !not : !titled(file, title)))
      .map(({ what }) => `${id} ${what}`),
  );
  expect(missing).toEqual([]);
});

it("docs/seeds.md has their counts, and that of its own deviations", () => {
  const told = rows.filter(({ cells }) => cells.every((cell) => /^\d+$/.test(cell)));
  const deviations = rows.filter(({ cells }) => cells.length === 3);
  expect(Object.fromEntries(told.map(({ id, cells }) => [id, cells.map(Number)]))).toEqual(
    Object.fromEntries(
      Object.entries(snippets).map(([id, all]) => {
        const here = all.filter(({ file }) => file?.startsWith("seeds/")).length;
        const elsewhere = all.filter(({ file }) => file !== undefined).length - here;
        const differing = deviations.filter((row) => row.id === id && !row.cells.every((cell) => /^\d+$/.test(cell)));
        return [id, [all.length, here, elsewhere, all.length - here - elsewhere, differing.length]];
      }),
    ),
  );
});

it("no deviation is told twice", () => {
  const said = rows.filter(({ cells }) => cells.length === 3).map(({ id, cells }) => `${id} ${cells[0]}`);
  expect(said.filter((one, n) => said.indexOf(one) !== n)).toEqual([]);
});
