// An agent prints secrets, on purpose or not: in whatever way a person would see them, nobody who looks through midwatch does.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { masker, maskText, nothingBefore } from "../../src/core/mask/mask.ts";
import { fingerprint, secretFinder } from "../../src/core/secret-values.ts";
import { innocents } from "../support/data/innocents.ts";
import { isSeen, type Sample, samples } from "../support/data/secret-formats.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, until } from "../support/workspace.ts";

const json = (said: string): string => JSON.stringify({ type: "assistant", text: said });
const delta = (said: string): string =>
  JSON.stringify({
    type: "stream_event",
    event: { type: "content_block_delta", delta: { type: "text_delta", text: said } },
  });

/** What stands in the log, and what a person reads of it. */
const EMBEDDINGS: Record<string, { print(said: string): string[]; read(lines: string[]): string }> = {
  plain: { print: (said) => said.split("\n"), read: (lines) => lines.join("\n") },
  "in JSON": { print: (said) => [json(said)], read: ([line]) => JSON.parse(line as string).text },
  "behind \\n in JSON": {
    print: (said) => [json(`is:\n${said}\nend`)],
    read: ([line]) => JSON.parse(line as string).text,
  },
  "behind \\t in JSON": {
    print: (said) => [json(`is:\t${said}\t!`)],
    read: ([line]) => JSON.parse(line as string).text,
  },
  "behind a colour": { print: (said) => `\u001b[1;31m${said}\u001b[0m`.split("\n"), read: (lines) => lines.join("\n") },
  "in two pieces": {
    print: (said) => [delta(`is ${said.slice(0, said.length >> 1)}`), delta(said.slice(said.length >> 1))],
    read: (lines) => lines.map((line) => JSON.parse(line).event.delta.text as string).join(""),
  },
  "in JSON in JSON": {
    print: (said) => [json(json(`is:\n${said}`))],
    read: ([line]) => JSON.parse(JSON.parse(line as string).text).text,
  },
  "with a colour in JSON": {
    print: (said) => [json(`\u001b[32m${said}\u001b[m`)],
    read: ([line]) => JSON.parse(line as string).text,
  },
  "as \\u escapes": {
    print: (said) => [
      `{"text":"${[...said].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"}`,
    ],
    read: ([line]) => JSON.parse(line as string).text,
  },
  "percent-encoded": {
    print: (said) => [encodeURIComponent(said)],
    read: ([line]) => decodeURIComponent(line as string),
  },
};
const ASKED = Object.keys(EMBEDDINGS).slice(0, 6);

async function printed(at: Lab, content: string | Buffer): Promise<string> {
  const file = join(at.folder, "content");
  writeFileSync(file, content);
  const { agent } = await at.sh(`cat '${file}'`);
  await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
  return agent;
}

async function shown(at: Lab, agent: string): Promise<string[]> {
  const { stdout } = await at.cli("logs", "--offset", "0", agent);
  return stdout.split("\n");
}

describe("formats", () => {
  const cases = [1, 2, 3].flatMap((seed) =>
    samples(seed).flatMap((sample) => Object.entries(EMBEDDINGS).map(([name, how]) => ({ sample, name, how }))),
  );

  it("an agent prints 230 kinds of secrets in ten ways: of each way at most one in fifty is seen in its log", async () => {
    const at = lab();
    // A key that is not there to its end must not hide what follows.
    const lines = cases.map(({ sample, how }) => [...how.print(sample.text), "next"]);
    const all = await shown(at, await printed(at, `${lines.flat().join("\n")}\n`));
    expect(all).toHaveLength(lines.flat().length + 1);
    const seen: Record<string, string[]> = {};
    for (const [i, { sample, name, how }] of cases.entries()) {
      const mine = all.splice(0, lines[i]?.length ?? 0);
      expect(mine.pop()).toBe("next");
      if (isSeen(sample, how.read(mine))) seen[name] = [...(seen[name] ?? []), sample.name];
    }
    expect(samples(1).length).toBeGreaterThanOrEqual(150);
    for (const name of Object.keys(EMBEDDINGS))
      expect({ name, seen: (seen[name] ?? []).slice(0, samples(1).length * 3 * 0.02) }).toEqual({
        name,
        seen: seen[name] ?? [],
      });
    expect(ASKED.flatMap((name) => seen[name] ?? []).length).toBeLessThanOrEqual(cases.length * 0.6 * 0.02);
  });

  it("hides nothing of 340 look-alikes: what they are in stays byte for byte", async () => {
    const at = lab();
    const lines = [...innocents(1, 5), ...innocents(2, 5).map((line) => json(`is:\n${line}`))];
    expect(innocents(1, 1).length).toBeGreaterThanOrEqual(300);
    const agent = await printed(at, `${lines.join("\n")}\n`);
    const all = await shown(at, agent);
    expect(all.filter((line, i) => line !== (lines[i] ?? ""))).toEqual([]);
  });

  it("values of the environment are hidden in the same ways, but for a cut without a beginning", () => {
    const value = "correct/horse+battery-94713";
    const finder = secretFinder(fingerprint([value]));
    for (const [name, { print, read }] of Object.entries(EMBEDDINGS)) {
      if (name === "in two pieces") continue;
      const hide = masker(finder);
      const before = nothingBefore();
      const lines = print(`key ${value}`).map((line) => hide.line(Buffer.from(line), before).toString());
      expect(read(lines)).not.toContain(value);
      expect(lines.join("")).toContain("[masked]");
    }
  });
});

describe("armoured keys, line by line", () => {
  const key = samples(5).find(({ name }) => name === "RSA key") as Sample;
  const body = key.secret.split("\n").slice(1, -1);
  const content = ["before", ...key.secret.split("\n"), "after", ""].join("\n");

  it("only the first and the last line are shown; a page, a tail, a grep or a search that begins within shows no more", async () => {
    const at = lab();
    const agent = await printed(at, content);
    const [begin, end] = [key.secret.split("\n")[0], key.secret.split("\n").at(-1)];
    expect(await shown(at, agent)).toEqual(["before", begin, ...body.map(() => "[masked]"), end, "after", ""]);
    const piece = body[1]?.slice(10, 20) as string;
    const ways = [
      await at.cli("logs", "-n", "3", agent),
      await at.cli("logs", "--json", "-n", "3", agent),
      await at.cli("logs", "--grep", piece, agent),
      await at.cli("logs", "--offset", "3", "--limit", "1", agent),
      await at.cli("page", "--line", "3", agent),
      await at.cli("search", piece),
    ];
    for (const { code, stdout } of ways) {
      expect(code).toBe(0);
      expect(stdout).toContain("[masked]");
      expect(isSeen(key, stdout)).toBe(false);
    }
  });

  it("who only speaks of such a key hides nothing behind it", async () => {
    const at = lab();
    const lines = ["-----BEGIN RSA PRIVATE KEY-----", "is how it begins", "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0"];
    expect((await shown(at, await printed(at, lines.join("\n")))).slice(0, 3)).toEqual(lines);
  });
});

it("a secret that is printed in two writes, a while apart, is never seen by one who follows", async () => {
  const at = lab();
  const [one] = samples(9).filter(({ name }) => name === "GitHub personal");
  const { text: secret } = one as Sample;
  const go = join(at.folder, "go");
  const { agent } = await at.sh(
    `echo begun; printf 'is ${secret.slice(0, 20)}'; until [ -e '${go}' ]; do sleep 0.02; done; echo '${secret.slice(20)} !'`,
  );
  const follower = at.node(CLI, "--workspace", at.root, "logs", "-f", agent);
  let seen = "";
  follower.stdout?.on("data", (part: Buffer) => (seen += part.toString()));
  await until(() => seen.includes("begun"));
  writeFileSync(go, "");
  await until(() => seen.includes("!"));
  expect(seen).toBe("begun\nis [masked] !\n");
});

describe("text made to take long", () => {
  const WORST = [
    "-eyJaaaaaaaa",
    "eyJaaaaaaaa.",
    "password=",
    "password= ",
    "password=a1b2c3 ",
    "://a:",
    "x://a:b",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAA",
    "sk-",
    "sk-a ",
    "%25",
    "%2525",
    "\\u00",
    "\\u0041",
    "\\\\u00zz",
    "\\",
    "\u001b[",
    "\u001b]8;;a",
    "\u001b",
    "xoxb-",
    "token=token=",
    "TOKEN=abcdef ",
    "'token': '",
    "Bearer aaaaaaaa ",
    "A3-AAAAAA-",
    "sig=",
    "\\/",
    '{"delta":"',
    "authorization: a ",
    "hooks.slack.com/services/",
  ];

  it("2 MB of the worst that was found are read within the time of a test, each as one line", () => {
    for (const part of WORST) {
      const bytes = Buffer.from(part.repeat(Math.ceil((2 << 20) / part.length)));
      expect(masker().line(bytes, nothingBefore()).length).toBeGreaterThan(0);
      expect(typeof maskText(bytes.toString("latin1"))).toBe("string");
    }
  });

  it("a page of it does not hold up the one who asks: 8 MB in a log", async () => {
    const at = lab();
    const agent = await printed(at, `${"-eyJaaaaaaaa".repeat(20_000)}\n`.repeat(34));
    const page = at.workspace.logs.page(agent, { limit: 100 });
    expect(page.records.length).toBeGreaterThan(5);
  });
});
