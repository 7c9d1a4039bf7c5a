/** Keeps what a real CLI printed for the replay tests of the drivers: test/fixtures/streams/CLI-CASE.jsonl, and beside it how it ended. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname } from "node:path";
import type { ShowRecord, Tokens } from "../../../src/core/types.ts";
import { supportFile } from "../workspace.ts";
import type { CliTrial } from "./cli-trial.ts";
import { CLIS, cliFolder } from "./real-clis.ts";

/** `NAME.json` beside the stream. */
export interface StreamEnd {
  cli: string;
  version: string;
  exit: ShowRecord["exit"];
  /** Whether it was ended by a stop. */
  stopped: boolean;
  /** Requests for a step of the model, retries too. */
  requests: number;
  /** What the answers that were sent whole are said to have cost. */
  usage: Tokens;
}

const FOLDER = supportFile("../../fixtures/streams");
const MOST_BYTES = 30_000;

export function keepStream(
  { cli, lab, record }: CliTrial,
  name: string,
  { exit, outcome }: ShowRecord,
  counted: Pick<StreamEnd, "requests" | "usage">,
): void {
  const places: [ours: string, shown: string][] = [
    [basename(lab.folder), "agent"],
    [lab.intent(record).nonce, "0".repeat(32)],
    [cliFolder(cli), `/opt/${cli}`],
    [dirname(process.execPath), "/opt/node/bin"],
    [supportFile("../../.."), "/opt/midwatch/"],
    [homedir(), "/home/user"],
  ];
  const stream = places.reduce((text, [ours, shown]) => text.replaceAll(ours, shown), readFileSync(record.log, "utf8"));
  const foreign = /.{0,40}\/(?:root|work)\b/.exec(stream)?.[0];
  if (foreign) throw new Error(`${cli} ${name} names a place of this machine: ${foreign}`);
  if (stream.length > MOST_BYTES) throw new Error(`${cli} ${name} is ${stream.length} bytes: too much for a fixture`);
  const { version } = CLIS[cli];
  const end: StreamEnd = { cli, version, exit, stopped: outcome === "stopped", ...counted };
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/${cli}-${name}.jsonl`, stream);
  writeFileSync(`${FOLDER}/${cli}-${name}.json`, `${JSON.stringify(end, null, 2)}\n`);
}
