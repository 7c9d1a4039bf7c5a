// `DB NAME RUNS WORDS [pause]`: tells the ledger of RUNS runs of its own and of one that all share, in WORDS words each. Sends the last word that was recorded.
import { Ledger } from "../../../src/spend/ledger.ts";

const [path = "", name = "", runs = "1", words = "1"] = process.argv.slice(2);
const ledger = new Ledger(() => path);
const workspace = { id: name, project: `/p/${name}` };
const shared = { id: "shared", project: "/p/shared" };

for (let word = 1; word <= Number(words); word++) {
  const tokens = { input: word * 10, output: word, cache_read: 0, cache_write: 0 };
  const parts = [{ model: "gpt-5", tokens, usd: word / 1000, estimated: true }];
  const totals = { task: "T", run: 1, labels: [], parts, told_usd: null, final: word === Number(words) };
  for (let n = 0; n < Number(runs); n++) ledger.record({ ...totals, workspace, agent: `${name}-${n}` });
  ledger.record({ ...totals, workspace: shared, agent: "shared" });
  process.send?.(word);
}
ledger.close();
process.disconnect?.();
