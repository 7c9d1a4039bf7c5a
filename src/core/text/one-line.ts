/** Text for people in one line, bounded. */

/** Each run of white space becomes one space. */
export function oneLine(text: string, most: number = Number.POSITIVE_INFINITY): string {
  return cut(text.replaceAll(/\s+/g, " ").trim(), most);
}

/** What is longer ends in an ellipsis, and never in half a character. */
export function cut(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text
        .slice(0, most - 1)
        .toWellFormed()
        .replace(/\ufffd$/, "")}…`;
}
