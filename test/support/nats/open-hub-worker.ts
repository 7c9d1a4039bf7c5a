// Inside a network of its own: a hub that asks nobody for a key, where other machines reach it. Prints what `midwatch up --join` says of it.

import { CLI, Lab, until } from "../workspace.ts";
import { Lan } from "./lan.ts";
import { NatsServer } from "./nats-server.ts";

const lan = Lan.open();
const lab = new Lab();
try {
  await using server = await NatsServer.start({ place: await lan?.place() });
  const up = lab.node(CLI, "up", "--no-http", "--workspace", lab.root, "--join", server.url, "--name", "alpha");
  let said = "";
  up.stderr?.on("data", (part) => {
    said += part;
  });
  up.stdout?.on("data", (part) => {
    said += part;
  });
  await until(() => said.includes("fleet:"), 20_000, "up tells of the fleet").catch(() => undefined);
  console.log(said);
} finally {
  await lab.end();
  lan?.close();
}
