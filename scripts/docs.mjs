// Writes the pages that are made from the code: docs/operations.md, docs/requirements.md. Tests fail while they differ.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { reference } from "../src/doors/cli/reference.ts";
import { operations } from "../src/operations/index.ts";
import { citations } from "../test/gate/citations.ts";
import { lastRun } from "../test/gate/last-run.ts";
import { page, resultsIn, resultsOf } from "../test/gate/page.ts";
import { requirements } from "../test/requirements.ts";

const docs = new URL("../docs/", import.meta.url);
writeFileSync(new URL("operations.md", docs), reference(operations));

// Without a whole run in this clone, the results that the page tells stay.
const path = new URL("requirements.md", docs);
const before = existsSync(path) ? resultsIn(readFileSync(path, "utf8")) : new Map();
const verdicts = lastRun();
writeFileSync(path, page(requirements, citations(), verdicts ? resultsOf(verdicts) : before));
