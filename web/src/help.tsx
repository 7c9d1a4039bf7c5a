/** The keys, on one sheet. */
import type { JSX } from "preact";
import { helpOpen } from "./keys.ts";
import { Dialog } from "./parts/dialog.tsx";

const KEYS: readonly [string, readonly (readonly [string, string])[]][] = [
  [
    "Everywhere",
    [
      ["g w", "the watch"],
      ["g j", "the journal"],
      ["g h", "health"],
      ["g c", "cost"],
      ["s", "start an agent"],
      ["/", "filter or search"],
      ["?", "this sheet"],
      ["Esc", "back, close"],
    ],
  ],
  [
    "The watch",
    [
      ["j  k", "next, previous agent"],
      ["Enter", "open it"],
    ],
  ],
  [
    "An agent",
    [
      ["j  k", "scroll"],
      ["d  u", "scroll further"],
      ["t  G", "first line, end"],
      ["f", "follow or pause"],
      [":", "go to a line or time"],
      ["n  N", "next, previous hit"],
      ["x", "stop it"],
    ],
  ],
];

export function HelpSheet(): JSX.Element {
  return (
    <Dialog
      title="Keys"
      wide
      onClose={() => {
        helpOpen.value = false;
      }}
    >
      <div class="keys">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, text]) => (
                <div key={key}>
                  <dt>
                    {key.split(/\s+/).map((one) => (
                      <kbd key={one}>{one}</kbd>
                    ))}
                  </dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
