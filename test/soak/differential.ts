/** The log engine beside GNU tail, sed, wc, grep, ripgrep and jq on random files: not one difference. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonlCount, jsonlPage, jsonlTail } from "../../src/log/jsonl/jsonl.ts";
import { Log } from "../../src/log/log.ts";
import { search } from "../../src/log/search.ts";
import { randomFile, seeded } from "../support/data/random-file.ts";
import { campaign, type Report } from "./report.ts";

function tool(command: string, ...args: string[]): Buffer {
  const { stdout, error } = spawnSync(command, args, { maxBuffer: 1 << 30, env: { ...process.env, LC_ALL: "C" } });
  if (error) throw error;
  return stdout;
}

const has = (command: string): boolean => spawnSync(command, ["--version"]).status === 0;

/** The lines as they are, newlines included. */
function bytesOf(items: Iterable<{ raw: { bytes: Buffer; whole: boolean } }>): Buffer {
  const copies: Buffer[] = [];
  for (const { raw } of items) copies.push(Buffer.concat([raw.bytes, Buffer.from(raw.whole ? "\n" : "")]));
  return Buffer.concat(copies);
}

/** The numbers of the lines that hold "ab". */
function hitsOf(file: string, size: number): string {
  const log = Log.open(file, undefined, { type: "line", json: false }) as Log;
  try {
    return [...search(log, "ab", 0, size)].map(({ seq }) => seq).join();
  } finally {
    log.close();
  }
}

/** As `grep -n` and `rg -n` print them. */
function numbersOf(output: Buffer): string {
  const lines = output.toString("latin1").split("\n").filter(Boolean);
  return lines.map((line) => Number.parseInt(line, 10)).join();
}

/** For each line that is text: is it JSON? jq takes NUL and broken UTF-8 for other bytes, so such lines are left out. */
function judgedByJq(file: string, bytes: Buffer): { ours: string; jq: string } | undefined {
  if (bytes.includes(0) || !Buffer.from(bytes.toString("utf8")).equals(bytes)) return undefined;
  const ours: boolean[] = [];
  for (const { record } of jsonlPage(file, 0, 1e9)) if (record !== undefined) ours.push(record.type !== "parse_error");
  const filter = 'if test("^[ \\t\\r]*$") then empty else (try (fromjson | true) catch false) end';
  return { ours: ours.join(), jq: tool("jq", "-R", filter, file).toString().trim().split("\n").filter(Boolean).join() };
}

export function differential(count: number, seed = 1): Promise<Report> {
  return campaign("differential", count, seed, async (fail, figures) => {
    const place = mkdtempSync(join(tmpdir(), "midwatch-differential-"));
    const file = join(place, "file");
    const random = seeded(seed);
    const [rg, jq] = [has("rg"), has("jq")];
    let judged = 0;
    try {
      for (let i = 0; i < count; i++) {
        const bytes = randomFile(random);
        writeFileSync(file, bytes);
        const n = Math.floor(random() * 40);
        const from = Math.floor(random() * 60);
        const check = (what: string, same: boolean): void => void (same || fail(`${what}, file ${i} of seed ${seed}`));
        check("tail", bytesOf(jsonlTail(file, n)).equals(tool("tail", "-n", String(n), file)));
        const sed = n === 0 ? Buffer.alloc(0) : tool("sed", "-n", `${from + 1},${from + n}p`, file);
        check("page", bytesOf(jsonlPage(file, from, n)).equals(sed));
        const { lines, bytes: size, partial } = await jsonlCount(file);
        check(
          "count",
          lines - (partial ? 1 : 0) === Number.parseInt(tool("wc", "-l", file).toString(), 10) && size === bytes.length,
        );
        const hits = hitsOf(file, bytes.length);
        check("search as grep", hits === numbersOf(tool("grep", "-a", "-n", "-F", "ab", file)));
        if (rg)
          check("search as rg", hits === numbersOf(tool("rg", "-a", "-n", "-N", "--line-number", "-F", "ab", file)));
        const both = jq ? judgedByJq(file, bytes) : undefined;
        if (both !== undefined) {
          judged++;
          check("json as jq", both.ours === both.jq);
        }
      }
      Object.assign(figures, { "judged by jq": judged, rg: rg ? "yes" : "not installed" });
    } finally {
      rmSync(place, { recursive: true });
    }
  });
}
