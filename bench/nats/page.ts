/** A page of a log on another host: what it costs beside the same page at home and a bare question over the same server. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "../../src/fleet/workspace.ts";
import { NatsServer } from "../../test/support/nats/nats-server.ts";
import { digits, interleave, median, times } from "../support/figures.ts";
import { finish, startReady } from "../support/process.ts";
import { type Options, type Row, row } from "../support/row.ts";
import { HOST, JoinedHost } from "./host.ts";

const RESPONDER = fileURLToPath(new URL("../load/respond.ts", import.meta.url));
const BARE = "bare.question";
const LINE = 200;
const LIMIT = 100;
const MOST = 3;

export async function pageRows({ quick, dir, say }: Options): Promise<Row[]> {
  const bytes = quick ? 20e6 : 120e6;
  const [lines, rounds] = [bytes / LINE, quick ? 60 : 400];
  await using server = await NatsServer.start({ under: dir });
  say(`an agent prints ${digits(bytes / 1e6)} MB`);
  let agent = "";
  await using host = await JoinedHost.start(join(dir, "page"), server.url, async (workspace) => {
    // 12 digits and 26 characters around them.
    const format = `{"n":"%012.0f","t":"${"x".repeat(LINE - 28)}"}`;
    const run = await workspace.runs.start({ argv: ["seq", "-f", format, "1", String(lines)] });
    agent = run.agent;
    await workspace.runs.wait([agent]);
  });
  const responder = await startReady(process.execPath, [RESPONDER, server.url, BARE]);
  try {
    const took = { local: [] as number[], remote: [] as number[], bare: [] as number[] };
    let line = 0;
    const timed = async (into: number[], act: () => unknown): Promise<void> => {
      const begun = performance.now();
      const page = (await act()) as Page | undefined;
      into.push(performance.now() - begun);
      if (page !== undefined && (page.records.length !== LIMIT || page.first_line !== line))
        throw new Error(`not the page at line ${line}`);
    };
    const somewhere = (): void => {
      line = Math.floor(Math.random() * (lines - LIMIT));
    };
    const variants = {
      local: async () => {
        somewhere();
        await timed(took.local, () => host.workspace.logs.page(agent, { line, limit: LIMIT }));
      },
      remote: async () => {
        somewhere();
        const fields = { agent, line, limit: LIMIT };
        const question = { operation: "page", input: { json: true, fields }, changes: false };
        await timed(took.remote, async () => ((await host.fleet.ask(HOST, question)) as { data: Page }).data);
      },
      bare: () => timed(took.bare, async () => void (await host.fleet.hub.request(BARE, ""))),
    };
    await interleave(variants, 50);
    for (const values of Object.values(took)) values.length = 0;
    say(`${rounds} pages each`);
    await interleave(variants, rounds);
    const [local, remote, bare] = [median(took.local), median(took.remote), median(took.bare)];
    const most = MOST * local + bare;
    return [
      row({
        promise: `fleet: a page of another host's log, ${LIMIT} of ${digits(lines)} lines of ${LINE} B`,
        figure: "p50, connected, at random places",
        measured: `${digits(remote)} ms`,
        peer: `at home ${digits(local)} ms, a bare question over the same server ${digits(bare)} ms`,
        ratio: `${times((remote - bare) / local)} of the page at home, the bare question taken off`,
        bar: `≤ ${MOST} x + 1 question = ${digits(most)} ms`,
        holds: remote <= most,
        note: `${rounds} of each in turns; the host is \`midwatch up --join\` in a process of its own`,
      }),
    ];
  } finally {
    await finish(responder);
  }
}
