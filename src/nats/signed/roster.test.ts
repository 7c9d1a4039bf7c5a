import { nkeys } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { isSignedBy, type Signer, signerOf } from "./keys.ts";
import { beginWith, keysAt, learn, type Roster, signRoster } from "./roster.ts";

function key(): Signer {
  const pair = nkeys.createUser();
  return signerOf(Buffer.from(pair.getSeed()).toString(), pair.getPublicKey());
}

const [first, second, third, host, stranger] = [key(), key(), key(), key(), key()];

function roster(serial: number, people: Signer[], more: Partial<Roster> = {}): Roster {
  const keys = people.map((one) => ({ key: one.key }));
  return { v: 1, fleet: "f", serial, at: "", people: keys, hosts: { alpha: [{ key: host.key }] }, ...more };
}

describe("a roster", () => {
  it("is signed as the client of the hub signs", () => {
    const pair = nkeys.createUser();
    const ours = signerOf(Buffer.from(pair.getSeed()).toString(), pair.getPublicKey());
    const text = Buffer.from("text");
    expect(nkeys.fromPublic(ours.key).verify(text, Buffer.from(ours.sign("text"), "base64url"))).toBe(true);
    const theirs = Buffer.from(pair.sign(text)).toString("base64url");
    expect([isSignedBy(ours.key, "text", theirs), isSignedBy(ours.key, "other", theirs)]).toEqual([true, false]);
    expect(isSignedBy(ours.key, "text", "")).toBe(false);
  });

  it("counts when a person signed it whom the reader knows, and only forward", () => {
    const known = beginWith([first.key]);
    const one = signRoster(roster(1, [first]), [first]);
    const two = signRoster(roster(2, [first], { hosts: {} }), [first]);
    expect(learn(known, [one], "f")).toMatchObject({ serial: 1, hosts: { alpha: [{ key: host.key }] } });
    const now = learn(known, [one, two], "f");
    expect(now).toMatchObject({ serial: 2, hosts: {} });
    for (const offered of [
      [one],
      [two],
      [],
      "x",
      null,
      [{}, { text: "{", signatures: {} }],
      [{ ...two, text: one.text }],
    ])
      expect(learn(now, offered, "f")).toBe(now);
    for (const by of [stranger, host]) expect(learn(known, [signRoster(roster(9, [by]), [by])], "f")).toBe(known);
    expect(learn(known, [one], "another fleet")).toBe(known);
    const forged = { text: JSON.stringify(roster(3, [stranger])), signatures: two.signatures };
    expect(learn(known, [forged], "f")).toBe(known);
  });

  it("without a person, or with what is no key, is none", () => {
    const known = beginWith([first.key]);
    const gone = roster(1, [], { people: [{ key: first.key, until: "2026-01-01T00:00:00Z" }] });
    const hosts = { "../x": [{ key: host.key }] };
    for (const bad of [roster(1, []), gone, roster(1, [first], { hosts }), roster(1.5, [first])])
      expect(learn(known, [signRoster(bad, [first])], "f")).toBe(known);
  });

  it("hands over from key to key: who missed one follows, and the old key has no word any more", () => {
    const all = [
      signRoster(roster(1, [first]), [first]),
      signRoster(roster(2, [second]), [second, first]),
      signRoster(roster(3, [third]), [third, second]),
    ];
    for (const begin of [first, second, third])
      expect(learn(beginWith([begin.key]), all, "f")).toMatchObject({ serial: 3, people: [{ key: third.key }] });
    const now = learn(beginWith([first.key]), all, "f");
    expect(learn(now, [signRoster(roster(4, [stranger]), [first, second])], "f")).toBe(now);
  });

  it("keeps a key for what the hub stored while it counted", () => {
    const keys = [{ key: "old", until: "2026-01-02T00:00:00Z" }, { key: "new" }];
    expect(keysAt(keys, Date.parse("2026-01-01T00:00:00Z"))).toEqual(["old", "new"]);
    expect(keysAt(keys, Date.parse("2026-01-03T00:00:00Z"))).toEqual(["new"]);
  });
});
