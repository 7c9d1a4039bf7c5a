import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { NatsEngine } from "../../src/nats/engine.ts";
import { NatsCluster } from "../support/nats/nats-cluster.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { until } from "../support/workspace.ts";
import { engineContract } from "./engine.ts";

/** A cluster answers differently from one server while it is storing, choosing a leader or making a stream: so the contract holds there too. */
describe.skipIf(!hasNats("current"))("three NATS servers", () => {
  let hub: NatsCluster;

  function handles(): () => NatsEngine {
    const fleet = `f${randomBytes(4).toString("hex")}`;
    return () => {
      const { urls: servers, monitors } = hub;
      const engine = new NatsEngine({ servers, monitors, name: "test", fleet, origin: "host-a" });
      onTestFinished(() => engine.close());
      return engine;
    };
  }

  beforeAll(async () => {
    hub = await NatsCluster.start();
    const { urls: servers } = hub;
    const engine = new NatsEngine({ servers, name: "test", fleet: "first", origin: "host-a" });
    await until(
      () =>
        engine
          .tail(1)
          .then(Boolean, () => undefined)
          .then((is) => is !== undefined),
      60_000,
      "the hub is up",
    );
    await engine.close();
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  engineContract("nats", () => {
    const another = handles();
    return { engine: another(), another };
  });
});
