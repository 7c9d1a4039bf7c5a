import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseAgentId, parseTaskId } from "../../src/core/ids.ts";
import { layout } from "../../src/disk/layout.ts";
import { RunLog } from "../../src/stream/run-log.ts";
import { Lab, supportFile } from "../support/workspace.ts";

const READS = 1500;

it("R-001.5: a log that is being moved is found wherever it is just then", async () => {
  const lab = new Lab();
  try {
    const { workspace } = lab;
    const record = await lab.sh("seq -f 'line %.0f' 3");
    const name = { task: parseTaskId(record.task), agent: parseAgentId(record.agent), run: 1 };
    const { agent, task } = name;
    await workspace.runs.wait([agent]);
    const paths = layout(lab.root);
    const plain = paths.agent(task, agent).log;
    const master = join(lab.folder, "master");
    copyFileSync(plain, master);
    await workspace.files.archive(agent);
    lab.node(supportFile("fault/moving-log.ts"), master, plain, paths.run(task, agent, 1).archivedLog);

    const missed = { opened: 0, read: 0, searched: 0 };
    for (let i = 0; i < READS; i++) {
      using opened = new RunLog({ layout: paths }, { ...name, json: false });
      if (opened.open(false)?.end(false) !== 21) missed.opened++;
      let lines = 0;
      for await (const _ of workspace.logs.read(agent)) lines++;
      if (lines !== 3) missed.read++;
      let hits = 0;
      for await (const _ of workspace.logs.search("line 2")) hits++;
      if (hits !== 1) missed.searched++;
    }
    expect(missed).toEqual({ opened: 0, read: 0, searched: 0 });
  } finally {
    await lab.end();
  }
});
