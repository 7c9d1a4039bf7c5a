// Writes the pages that are made from the code: docs/operations.md. A test fails while they differ.
import { writeFileSync } from "node:fs";
import { reference } from "../src/doors/cli/reference.ts";
import { operations } from "../src/operations/index.ts";

writeFileSync(new URL("../docs/operations.md", import.meta.url), reference(operations));
