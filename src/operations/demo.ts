import { z } from "zod";
import { demo as scenes } from "../demo.ts";
import { type Operation, operation } from "./operation.ts";

export const demo: Operation = operation({
  name: "demo",
  summary: "See it work: scripted agents, a killed launcher, a take-over, a stop with proof",
  details: "Runs about five seconds in a folder of its own that it removes again. No key, no network.",
  positionals: [],
  input: z.strictObject({}),
  changes: true,
  cliOnly: true,
  examples: ["midwatch demo"],
  run: (context) => scenes(context.signal, context.env as NodeJS.ProcessEnv),
  render: (line) => line,
});
