/** A command line as its words: quotes and backslashes as in a shell, and nothing else of one. */
export function argvOf(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string;
    if (quote !== "") {
      if (c === quote) quote = "";
      else if (c === "\\" && quote === '"' && '"\\$`'.includes(text[i + 1] ?? "")) word += text[++i] ?? "";
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (c === "\\" && i + 1 < text.length) word = (word ?? "") + text[++i];
    else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + c;
  }
  if (word !== undefined) words.push(word);
  return words;
}
