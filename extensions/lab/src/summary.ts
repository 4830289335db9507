/** What a collapsed output of ours holds, in one line: JupyterLab shows the first line of its HTML, which is a style element. */

export type Bundle = { readonly [mime: string]: unknown };

const ANSWER_CHARS = 80;

/** `They bring 2,210 together. · scripted · 20 tokens in, 10 out · 1.2 s`; undefined for what is not ours. */
export function summary(data: Bundle | undefined): string | undefined {
  const html = textOf(data?.["text/html"]);
  if (!/class="hnb/.test(html)) {
    return undefined;
  }
  const page = new DOMParser().parseFromString(html, "text/html");
  const last = (css: string) => [...page.querySelectorAll(css)].at(-1)?.textContent?.replace(/\s+/g, " ").trim() ?? "";
  const answer = last(".hnb-answer");
  const head = answer.length > ANSWER_CHARS ? `${answer.slice(0, ANSWER_CHARS - 1)}…` : answer;
  return [head, last(".hnb-total > summary")].filter(Boolean).join(" · ") || firstLine(data);
}

/** The first line of a bundle's text that says anything. */
export function firstLine(data: Bundle | undefined): string | undefined {
  return textOf(data?.["text/plain"])
    .split("\n")
    .find(line => line.trim());
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join("") : typeof value === "string" ? value : "";
}
