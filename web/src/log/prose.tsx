/** What an agent says, with the little Markdown that agents use. Everything becomes text nodes; nothing is taken as HTML. */
import type { ComponentChildren, JSX } from "preact";

export function Prose({ text }: { text: string }): JSX.Element {
  const parts = text.split(/^```[^\n]*\n?/m);
  return (
    <div class="prose">
      {parts.map((part, i) => {
        if (part.trim() === "") return null;
        return i % 2 === 1 ? <pre key={i}>{part.replace(/\n$/, "")}</pre> : <Paragraphs key={i} text={part} />;
      })}
    </div>
  );
}

function Paragraphs({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text
        .trim()
        .split(/\n{2,}/)
        .map((block, i) => {
          const heading = /^#{1,4} (.+)$/.exec(block);
          return heading ? <h4 key={i}>{inline(heading[1] ?? "")}</h4> : <p key={i}>{lines(block)}</p>;
        })}
    </>
  );
}

function lines(block: string): ComponentChildren {
  return block
    .split("\n")
    .flatMap((line, i) => [...(i > 0 ? ["\n"] : []), ...inline(line.replace(/^(\s*)[-*] /, "$1• "))]);
}

function inline(text: string): (string | JSX.Element)[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part, i) => {
    if (part.length > 2 && part.startsWith("`")) return <code key={i}>{part.slice(1, -1)}</code>;
    if (part.length > 4 && part.startsWith("**")) return <b key={i}>{part.slice(2, -2)}</b>;
    return part;
  });
}
