import { headers, type MsgHdrs, nkeys } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { type Signer, signerOf } from "./keys.ts";
import { type Roster, signRoster } from "./roster.ts";
import { SEAL, type Sealed, Seals, stampOf, type What } from "./seals.ts";

function key(): Signer {
  const pair = nkeys.createUser();
  return signerOf(Buffer.from(pair.getSeed()).toString(), pair.getPublicKey());
}

const [person, alpha, beta] = [key(), key(), key()];
const SUBJECT = "midwatch.f.ev.alpha";

function sealsOf(
  signer: Signer | undefined,
  more: { people?: string[]; self?: string; roster?: Partial<Roster> } = {},
) {
  const doubts: string[] = [];
  const { people = [person.key], self, roster } = more;
  const seals = new Seals({ fleet: "f", signer, people, self, doubt: (text) => doubts.push(text) });
  const hosts = { alpha: [{ key: alpha.key }], beta: [{ key: beta.key }] };
  const base: Roster = { v: 1, fleet: "f", serial: 1, at: "", people: [{ key: person.key }], hosts };
  if (roster !== undefined) seals.learn([signRoster({ ...base, ...roster }, [person])]);
  return { seals, doubts };
}

function set(fields: Record<string, string>): MsgHdrs {
  const made = headers();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
}

/** What `by` says under alpha's name, as it stands there; `change` is what happens to it on the way. */
function stands(by: Signer | undefined, change: Partial<Sealed> = {}, what: What = "event"): Sealed {
  const fields = sealsOf(by).seals.headers(what, SUBJECT, "text", "at");
  return {
    subject: SUBJECT,
    payload: "text",
    headers: set(fields),
    more: "at",
    host: "alpha",
    storedMs: Date.now(),
    ...change,
  };
}

const MINUTE = 60_000;

describe("what stands at the hub", () => {
  it.each<[string, Sealed, string]>([
    ["signed by its host", stands(alpha), "signed"],
    ["signed by a person", stands(person), "signed"],
    ["signed by another host", stands(beta), "wrong"],
    ["signed by nobody", stands(undefined), "unsigned"],
    ["changed since", stands(alpha, { payload: "other" }), "wrong"],
    ["under another subject", stands(alpha, { subject: "midwatch.f.ev.beta" }), "wrong"],
    ["with another place in the journal", stands(alpha, { more: "other" }), "wrong"],
    ["signed as something else", stands(alpha, {}, "register"), "wrong"],
    ["of people's, signed by a host", stands(alpha, { host: undefined }), "wrong"],
    ["of a host that no roster names", stands(key(), { host: "gamma" }), "unsigned"],
    ["of a host that is called as what every object has", stands(key(), { host: "constructor" }), "unsigned"],
    ["stored two minutes later", stands(alpha, { storedMs: Date.now() + 2 * MINUTE - 1000 }), "signed"],
    ["stored long after it was signed", stands(alpha, { storedMs: Date.now() + 3 * MINUTE }), "old"],
    ["with a torn seal", stands(alpha, { headers: set({ [SEAL]: "1." }) }), "wrong"],
  ])("%s", (_, sealed, expected) => {
    const { seals, doubts } = sealsOf(undefined, { roster: {} });
    expect(seals.judge("event", sealed)).toBe(expected);
    seals.judge("event", sealed);
    expect(doubts).toHaveLength(expected === "wrong" || expected === "old" ? 1 : 0);
  });

  it("is looked at by no one who knows nobody's key, and by a host with its own before there is a roster", () => {
    expect(sealsOf(undefined, { people: [] }).seals.judge("event", stands(beta))).toBe("open");
    expect(sealsOf(alpha, { self: "alpha" }).seals.judge("event", stands(alpha))).toBe("signed");
    expect(sealsOf(alpha, { self: "alpha" }).seals.judge("event", stands(beta))).toBe("wrong");
    expect(sealsOf(alpha, { self: "beta" }).seals.judge("event", stands(alpha))).toBe("unsigned");
  });

  it("counts with a key that has gone if it was stored before, and asks nothing with it", () => {
    const until = new Date(Date.now() + MINUTE).toISOString();
    const { seals } = sealsOf(undefined, {
      roster: { hosts: { alpha: [{ key: alpha.key, until }, { key: beta.key }] } },
    });
    expect(seals.judge("event", stands(alpha))).toBe("signed");
    expect(seals.judge("event", stands(alpha, { storedMs: Date.now() + 1.5 * MINUTE }))).toBe("wrong");
    const { storedMs: _, ...sent } = stands(alpha);
    expect(seals.judge("event", sent)).toBe("wrong");
    expect(seals.judge("event", stands(beta))).toBe("signed");
  });

  it("is signed in order, and by the clock of the hub where ours is behind", () => {
    const { seals } = sealsOf(alpha);
    const stamp = (least = 0): number => stampOf(set(seals.headers("event", SUBJECT, "", "", least)));
    const [one, two] = [stamp(), stamp()];
    expect(two).toBeGreaterThan(one);
    expect(stamp(two + 5000)).toBe(two + 5000);
    seals.followClock(Date.now() + 60 * MINUTE);
    expect(stamp()).toBeGreaterThanOrEqual(one + 59 * MINUTE);
    const ahead = sealsOf(alpha).seals;
    ahead.followClock(Date.now() - 60 * MINUTE);
    ahead.followClock(Number.NaN);
    expect(stampOf(set(ahead.headers("event", SUBJECT, "")))).toBeGreaterThanOrEqual(one);
  });
});
